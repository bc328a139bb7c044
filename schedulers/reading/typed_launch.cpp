// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_launch.hpp"

#include "launchers/documents/job.hpp"
#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/reading/asked_parts.hpp"
#include "schedulers/reading/convert_batch.hpp"
#include "schedulers/reading/launcher_options.hpp"
#include "schedulers/reading/script_shell.hpp"
#include "schedulers/reading/typed_body.hpp"
#include "schedulers/reading/typed_setup.hpp"
#include "schedulers/reading/typed_words.hpp"

#include <algorithm>
#include <array>

namespace cybele::schedulers {
namespace {

template <std::size_t kSize>
bool is_among(std::string_view word, const std::array<std::string_view, kSize>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

/// The launch, word by word.
class Understanding {
public:
    Understanding(const BatchScript& script, const BatchOptions& options, const Place& place)
        : script_(script), options_(options), place_(place) {}

    bool read(const ShellCommand& command, const Constants& constants) {
        bool is_before_program = true;
        for (const ShellWord& word : command.words) {
            const auto value = word_value(word.raw, constants);
            if (!value || value->empty()) {
                return false;
            }
            const auto equals = word.raw.find('=');
            const std::string name = word.raw.substr(0, equals);
            is_before_program = is_before_program && equals != std::string::npos &&
                                launchers::check_variable(name).because.empty();
            if (!is_before_program) {
                words_.push_back(*value);
            } else if (!is_harmless_variable(name) || (*value)[equals + 1] == '@') {
                return false;
            } else {
                launch.environment[name] = value->substr(equals + 1);
            }
        }
        return !words_.empty() && take_starter() && take_container() && take_program();
    }

    TypedLaunch launch;

private:
    /// Options up to the first other word; false: one is not understood.
    template <class Put>
    bool take_options(Starter starter, Put put) {
        while (at_ < words_.size() && words_[at_].starts_with('-')) {
            const auto equals = words_[at_].find('=');
            const std::string name = words_[at_].substr(0, equals);
            const StarterOption* const row = find_starter_option(starter, name);
            if (row == nullptr || row->words > 1 ||
                (row->words == 0 && equals != std::string::npos)) {
                return false;
            }
            std::string value =
                equals == std::string::npos ? std::string() : words_[at_].substr(equals + 1);
            if (row->words == 1 && equals == std::string::npos) {
                if (++at_ == words_.size()) {
                    return false;
                }
                value = words_[at_];
            }
            ++at_;
            if (!put(name, value)) {
                return false;
            }
        }
        return true;
    }

    bool take_starter() {
        constexpr std::array<std::string_view, 4> kMpirun{
            "mpirun", "mpiexec", "mpiexec.hydra", "orterun"};
        const std::string first = words_.front();
        const bool is_srun = first == "srun";
        if (!is_srun && !is_among(first, kMpirun)) {
            launch.kind = "serial";
            return place_.nodes == 1 && place_.tasks == 1;
        }
        at_ = 1;
        launch.kind = "mpi";
        launch.launcher = is_srun ? "srun" : "mpirun";
        launch.pmi = is_srun ? "default" : "";
        bool has_count = is_srun; // srun starts as many as were asked for
        const bool is_read = take_options(is_srun ? Starter::kSrun : Starter::kOpenMpi,
                                          [&](const std::string& name, const std::string& value) {
                                              const bool is_count = name == "-n" ||
                                                                    name == "--ntasks" ||
                                                                    name == "-np" || name == "--np";
                                              has_count = has_count || is_count;
                                              return is_count  ? whole_number(value) == place_.tasks
                                                     : is_srun ? take_srun_option(name, value)
                                                               : false;
                                          });
        const bool is_right_place = !is_srun || script_.reader == Reader::kSlurm;
        return is_read && has_count && place_.is_exact && is_right_place &&
               (is_srun || place_.tasks > 1);
    }

    bool take_srun_option(const std::string& name, const std::string& value) {
        constexpr std::array<std::string_view, 11> kPassed{"--cpu-bind",
                                                           "--cpu_bind",
                                                           "--distribution",
                                                           "-m",
                                                           "--hint",
                                                           "--unbuffered",
                                                           "-u",
                                                           "--label",
                                                           "-l",
                                                           "--gpu-bind",
                                                           "--mem-bind"};
        const auto number = whole_number(value);
        if (name == "-N" || name == "--nodes") {
            return number == place_.nodes;
        }
        if (name == "-c" || name == "--cpus-per-task") {
            return number == place_.cpus;
        }
        if (name == "--ntasks-per-node") {
            return place_.nodes * number.value_or(0) == place_.tasks;
        }
        if (name == "--kill-on-bad-exit" || name == "-K") {
            return value.empty() || value == "1"; // ours
        }
        if (name == "--export") {
            return value == "ALL"; // as without it
        }
        if (name == "--mpi") {
            launch.pmi = value;
            return value == "pmix" || value == "pmi2";
        }
        if (is_among(name, kPassed)) {
            launch.options.push_back(value.empty()            ? name
                                     : name.starts_with("--") ? name + "=" + value
                                                              : name + value);
            return true;
        }
        return false;
    }

    bool take_container() {
        constexpr std::array<std::string_view, 2> kRuntimes{"apptainer", "singularity"};
        if (at_ + 2 >= words_.size() || !is_among(words_[at_], kRuntimes)) {
            return at_ < words_.size() && !is_among(last_part(words_[at_]), kRuntimes);
        }
        const std::string action = words_[at_ + 1];
        at_ += 2;
        bool has_gpu_option = false;
        const bool is_read = take_options(Starter::kContainer,
                                          [&](const std::string& name, const std::string& value) {
                                              if (name == "--nv") {
                                                  has_gpu_option = true;
                                                  return true;
                                              }
                                              if (name != "-B" && name != "--bind") {
                                                  return false;
                                              }
                                              return take_binds(value);
                                          });
        // The option goes with the Job's GPUs, not without.
        const bool has_gpus = options_.fields.contains("resources.gpus-per-node") ||
                              options_.fields.contains("resources.gpus") ||
                              options_.fields.contains("resources.gpus-per-task");
        if (!is_read || at_ == words_.size() || has_gpu_option != has_gpus) {
            return false;
        }
        launch.image = words_[at_++];
        const bool is_file = launch.image.ends_with(".sif") && !has_index(launch.image);
        const bool is_exec = action == "exec" && at_ < words_.size();
        const bool is_run = action == "run" && at_ == words_.size();
        return is_file && (is_exec || is_run);
    }

    bool take_binds(std::string_view list) {
        while (!list.empty()) {
            const std::string bind(list.substr(0, list.find(',')));
            list.remove_prefix(std::min(bind.size() + 1, list.size()));
            if (bind.empty() || bind.front() != '/' || has_index(bind) ||
                !launchers::check_bind(bind).because.empty()) {
                return false;
            }
            launch.binds.push_back(bind);
        }
        return !launch.binds.empty();
    }

    static bool has_index(std::string_view text) {
        return text.find(launchers::kIndexMark) != std::string_view::npos;
    }

    bool take_program() {
        launch.command.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
        if (launch.command.empty()) {
            return !launch.image.empty();
        }
        // Words of the shell, and programs that start several themselves.
        constexpr std::array<std::string_view, 9> kNotPrograms{"time",
                                                               "exec",
                                                               "eval",
                                                               "torchrun",
                                                               "accelerate",
                                                               "deepspeed",
                                                               "srun",
                                                               "mpirun",
                                                               "mpiexec"};
        const std::string& first = launch.command.front();
        return !first.starts_with('-') && !has_index(first) &&
               !is_among(last_part(first), kNotPrograms);
    }

    const BatchScript& script_;
    const BatchOptions& options_;
    const Place& place_;
    std::vector<std::string> words_;
    std::size_t at_ = 0;
};

/// Options that change nothing of what is started, nor of its outputs.
bool is_free_word(const std::string& word) {
    constexpr std::array<std::string_view, 25> kFree{
        "--gres-flags",  "--mail-type", "--mail-user",   "--exclude",    "--nodelist",
        "--reservation", "--licenses",  "--comment",     "--constraint", "--dependency",
        "--begin",       "--nice",      "--qos",         "--partition",  "--switches",
        "--tmp",         "--mem",       "--mem-per-cpu", "--requeue",    "--no-requeue",
        "--contiguous",  "--clusters",  "--wckey",       "--deadline",   "--time"};
    return is_among(std::string_view(word).substr(0, word.find('=')), kFree) ||
           word.starts_with("-W group_list") || word.starts_with("-M ") || word.starts_with("-m ");
}

/// Options that would have another effect next to those of a launch of ours: they say how many
/// tasks start, whose outputs are whose, which variables the script has.
bool is_bound_word(const BatchScript& script, const std::string& word) {
    constexpr std::array<std::string_view, 17> kBound{"--ntasks",
                                                      "--ntasks-per-node",
                                                      "--tasks-per-node",
                                                      "--nodes",
                                                      "--cpus-per-task",
                                                      "--array",
                                                      "--job-name",
                                                      "--signal",
                                                      "--export",
                                                      "--export-file",
                                                      "--get-user-env",
                                                      "--chdir",
                                                      "--wrap",
                                                      "--parsable",
                                                      "--test-only",
                                                      "--input",
                                                      "--overcommit"};
    if (script.reader == Reader::kSlurm || script.reader == Reader::kNone) {
        return !word.starts_with("--") ||
               is_among(std::string_view(word).substr(0, word.find('=')), kBound);
    }
    constexpr std::array<std::string_view, 12> kFreeOfPbs{"-l mem=",
                                                          "-l pmem=",
                                                          "-l vmem=",
                                                          "-l pvmem=",
                                                          "-l cput=",
                                                          "-l scratch=",
                                                          "-l jobfs=",
                                                          "-l file=",
                                                          "-l software=",
                                                          "-l other=",
                                                          "-p ",
                                                          "-P "};
    return !is_free_word(word) &&
           std::none_of(kFreeOfPbs.begin(), kFreeOfPbs.end(), [&word](std::string_view free) {
               return word.starts_with(free);
           });
}

/// A shell by its name alone.
bool is_plain_shell(const BatchScript& script) {
    const std::vector<std::string> words = shell_words_of(script);
    const std::string name = shell_name_of(script);
    const bool is_env = words.size() == 2 && last_part(words[0]) == "env" && words[1] == name;
    return (words.size() == 1 || is_env) && (name == "bash" || name == "sh") &&
           script.lines.front().starts_with("#!");
}

/// A shell that reads a text after `-c` as it reads a file: with options such as `-l` and `-ex`.
bool is_shell_of_text(const BatchScript& script) {
    constexpr std::array<std::string_view, 5> kShells{"bash", "sh", "dash", "ksh", "zsh"};
    const std::vector<std::string> words = shell_words_of(script);
    const std::string name = shell_name_of(script);
    const bool has_option = words.size() == 2 && last_part(words[0]) == name;
    const bool is_known =
        !has_option || words[1] == "--login" ||
        (words[1].starts_with('-') && words[1].find_first_not_of("-leuvx") == std::string::npos &&
         words[1].find('-', 1) == std::string::npos);
    return is_known && (has_option || words.size() == 1 || is_plain_shell(script)) &&
           is_among(name, kShells) && script.lines.front().starts_with("#!");
}

bool starts_at_home_of(const BatchScript& script) {
    return script.reader == Reader::kTorque || script.reader == Reader::kPbspro;
}

/// A launch of which each word is known before the job runs.
std::optional<TypedLaunch> launch_of_words(const BatchScript& script,
                                           const BatchOptions& options,
                                           const Body& body,
                                           const Place& place) {
    const Statement& last = body.statements.back();
    if (body.reads_arguments || body.place + 1 != body.statements.size() ||
        last.commands.size() != 1 || last.is_conditional || !is_plain_shell(script)) {
        return std::nullopt;
    }
    auto setup = typed_setup(script, options, body, place);
    Understanding understanding(script, options, place);
    if (!setup || (starts_at_home_of(script) && !setup->enters_submit_directory) ||
        !understanding.read(*body.launch, setup->constants)) {
        return std::nullopt;
    }
    TypedLaunch launch = std::move(understanding.launch);
    const bool is_kept = launch.image.empty() || !setup->hides_from_container;
    const bool is_alone = launch.kind == "serial" || !setup->steers_launcher;
    if (!is_kept || !is_alone || (setup->threads && *setup->threads > place.cpus)) {
        return std::nullopt; // more threads than cores are refused by a launch of ours
    }
    launch.modules = std::move(setup->modules);
    launch.setup = std::move(setup->text);
    launch.environment.merge(setup->environment);
    launch.threads =
        setup->threads ? std::to_string(*setup->threads)
        : launch.kind == "serial" && !options.fields.contains("resources.cpus-per-task") ? "own"
                                                                                         : "";
    return launch;
}

/// `nodes=1:ppn=8` for one program: TORQUE counts cores, and a Job of one task with as many writes
/// the same words.
bool has_slots_of_cores(const BatchScript& script,
                        const BatchOptions& options,
                        const Place& place) {
    return script.reader == Reader::kTorque && place.nodes == 1 && place.tasks > 1 &&
           options.fields.contains("resources.tasks-per-node") &&
           !options.fields.contains("resources.cpus-per-task") &&
           !options.fields.contains("resources.tasks");
}

/// Lines that a batch system would take for directives, in the text of a `script`. `##SBATCH` and
/// `# SBATCH` are comments for each of them.
bool has_directives(std::string_view text) {
    constexpr std::array<std::string_view, 3> kMarks{"#SBATCH", "#PBS", "#BSUB"};
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (std::any_of(kMarks.begin(), kMarks.end(), [line](std::string_view mark) {
                return line.starts_with(mark);
            })) {
            return true;
        }
    }
    return false;
}

/// Whether a word of the command may start tasks of the allocation, which is then not left to one
/// process: a launcher, or a name that is known in the job only.
bool may_start_tasks(const ShellCommand& command) {
    constexpr std::array<std::string_view, 10> kLaunchers{"srun",
                                                          "mpirun",
                                                          "mpiexec",
                                                          "mpiexec.hydra",
                                                          "orterun",
                                                          "prun",
                                                          "ibrun",
                                                          "aprun",
                                                          "jsrun",
                                                          "pbsdsh"};
    const std::string_view program = command.program();
    return program.find_first_of("$`") != std::string_view::npos ||
           std::any_of(command.words.begin(), command.words.end(), [&](const ShellWord& word) {
               return std::any_of(
                   kLaunchers.begin(), kLaunchers.end(), [&](std::string_view launcher) {
                       return last_part(word.text) == launcher ||
                              word.text.find(std::string(launcher) + " ") != std::string::npos;
                   });
           });
}

/// Options that a Job's own array, folder or submission would contradict.
bool is_own_word(const std::string& word) {
    constexpr std::array<std::string_view, 13> kOwn{"--array",
                                                    "--wrap",
                                                    "--parsable",
                                                    "--test-only",
                                                    "--input",
                                                    "--chdir",
                                                    "--export-file",
                                                    "-J ",
                                                    "-t ",
                                                    "-d ",
                                                    "-w ",
                                                    "-I",
                                                    "-X"};
    return std::any_of(
        kOwn.begin(), kOwn.end(), [&word](std::string_view own) { return word.starts_with(own); });
}

/// One program of the host that the body's own shell starts, with its words as they are.
std::optional<TypedLaunch> launch_of_script(const BatchScript& script,
                                            const BatchOptions& options,
                                            const Body& body,
                                            const Place& place,
                                            bool is_bound) {
    constexpr std::array<std::string_view, 9> kStarters{
        "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "ibrun", "aprun", "jsrun", "bash", "sh"};
    constexpr std::size_t kMostText = std::size_t{64} << 10U;
    const std::string_view program = last_part(body.launch->program());
    std::string text = body_of(script);
    text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
    const std::vector<std::string> shell = shell_words_of(script);
    const bool folds_slots = has_slots_of_cores(script, options, place);
    const bool is_one = place.nodes == 1 && (place.tasks == 1 || folds_slots) && place.is_exact;
    // `-n 1 --ntasks-per-node=12` is a contradiction, which Slurm settles.
    const auto each = options.fields.find("resources.tasks-per-node");
    const bool is_odd = place.tasks == 1 && each != options.fields.end() && each->second != "1";
    const bool is_exact = !is_one || is_bound || is_odd;
    const bool is_right =
        !is_exact || (!may_start_tasks(*body.launch) &&
                      std::none_of(options.words.begin(), options.words.end(), is_own_word));
    if (!is_right || text.size() > kMostText || is_among(program, kStarters) ||
        program.ends_with(".sh") || !is_shell_of_text(script) || has_directives(text)) {
        return std::nullopt;
    }
    TypedLaunch launch;
    launch.is_exact = is_exact;
    launch.folds_slots = folds_slots && !is_exact;
    launch.kind = "serial";
    launch.script = starts_at_home_of(script) ? "cd # as qsub starts a script\n" + text : text;
    launch.shell = shell;
    const bool sets_threads = text.find("_NUM_THREADS") != std::string::npos;
    const bool has_cpus = options.fields.contains("resources.cpus-per-task");
    launch.threads = sets_threads || !has_cpus || is_exact ? "own" : "";
    return launch;
}

} // namespace

std::optional<TypedLaunch> typed_launch(const BatchScript& script, const BatchOptions& options) {
    const auto& words = options.words;
    const bool is_free = std::all_of(words.begin(), words.end(), is_free_word);
    const bool is_bound = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return is_bound_word(script, word);
    });
    const bool is_plain = std::all_of(script.odd.begin(), script.odd.end(), [](const OddLine& odd) {
        return odd.why == OddLine::Why::kComment;
    });
    const auto body = body_with_one_launch(script);
    const bool is_of_batch = options.fields.contains("resources.cpus-per-gpu");
    if (!options.refused.empty() || !is_plain || !body || is_of_batch) {
        return std::nullopt;
    }
    const Place place = place_of_options(options);
    auto launch = is_free ? launch_of_words(script, options, *body, place) : std::nullopt;
    return launch ? std::move(launch) : launch_of_script(script, options, *body, place, is_bound);
}

} // namespace cybele::schedulers
