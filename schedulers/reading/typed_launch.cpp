// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_launch.hpp"

#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/reading/asked_parts.hpp"
#include "schedulers/reading/launcher_options.hpp"
#include "schedulers/reading/script_shell.hpp"

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

/// A word that the shell passes on as it is.
bool is_literal(const ShellWord& word) {
    return !word.has_expansion && !word.is_redirection &&
           word.raw.find_first_of("*?[]{}~<>!\\\n") == std::string::npos && !word.text.empty();
}

/// `$SLURM_SUBMIT_DIR` and its like, quoted or not.
bool is_submit_directory(const ShellWord& word) {
    constexpr std::array<std::string_view, 4> kForms{
        "$PBS_O_WORKDIR", "${PBS_O_WORKDIR}", "$SLURM_SUBMIT_DIR", "${SLURM_SUBMIT_DIR}"};
    return is_among(word.text, kForms);
}

/// What is asked for, as numbers.
struct Place {
    std::uint64_t nodes = 1;
    std::uint64_t tasks = 1;
    std::uint64_t cpus = 1;
    bool is_exact = true; ///< false: the scheduler chooses nodes or tasks
};

std::uint64_t number_in(const BatchOptions& options, const std::string& field) {
    const auto found = options.fields.find(field);
    return found == options.fields.end() ? 0 : whole_number(found->second).value_or(0);
}

Place place_of_options(const BatchOptions& options) {
    Place place;
    const std::uint64_t nodes = number_in(options, "resources.nodes");
    const std::uint64_t tasks = number_in(options, "resources.tasks");
    const std::uint64_t each = number_in(options, "resources.tasks-per-node");
    place.nodes = std::max<std::uint64_t>(nodes, 1);
    place.cpus = std::max<std::uint64_t>(number_in(options, "resources.cpus-per-task"), 1);
    place.tasks = tasks != 0 ? tasks : place.nodes * std::max<std::uint64_t>(each, 1);
    const bool is_one = place.tasks == 1 && place.nodes == 1;
    const bool is_even = nodes != 0 && (each != 0 ? place.tasks == place.nodes * each
                                                  : tasks == 0 || place.nodes == 1);
    place.is_exact = is_one || is_even;
    return place;
}

/// The body, command by command.
class Understanding {
public:
    Understanding(const BatchScript& script, const BatchOptions& options)
        : script_(script), options_(options), place_(place_of_options(options)) {}

    bool read() {
        const auto& commands = script_.commands;
        for (std::size_t index = 0; index < commands.size(); ++index) {
            const ShellCommand& command = commands[index];
            const bool is_plain = (command.before.empty() || command.before == "\n") &&
                                  (command.after == "\n" || command.after.empty());
            const bool is_last = index + 1 == commands.size();
            if (!is_plain ||
                !(is_last ? take_launch(command) : take_setting(command) || take_line(command))) {
                return false;
            }
        }
        const bool is_pbs = script_.reader == Reader::kTorque || script_.reader == Reader::kPbspro;
        return !launch.kind.empty() && (!is_pbs || enters_submit_directory_);
    }

    TypedLaunch launch;

private:
    bool take_setting(const ShellCommand& command) {
        const auto& words = command.words;
        const std::string_view name = command.program();
        if (words.empty() || words.front().text != name) {
            return false;
        }
        if (name == "set") {
            constexpr std::array<std::string_view, 6> kKnown{
                "-e", "-u", "-eu", "-o", "pipefail", "-euo"};
            return std::all_of(words.begin() + 1, words.end(), [&](const ShellWord& word) {
                return is_among(word.text, kKnown);
            });
        }
        if (name == "cd") {
            enters_submit_directory_ = words.size() == 2 && is_submit_directory(words[1]);
            return enters_submit_directory_;
        }
        if (name == "module" && take_modules(words)) {
            return true;
        }
        return name == "export" && take_variables(words);
    }

    /// A line of its own that only says something, or prepares the shell: it runs before the
    /// program as it stands.
    bool take_line(const ShellCommand& command) {
        constexpr std::array<std::string_view, 7> kSaying{
            "echo", "date", "hostname", "pwd", "whoami", "nvidia-smi", "printf"};
        constexpr std::array<std::string_view, 5> kPreparing{
            "source", ".", "ulimit", "conda", "module"};
        const std::string& line = script_.lines[command.line - 1];
        const bool is_whole =
            !line.ends_with('\\') && line.find("<<") == std::string::npos &&
            std::none_of(command.words.begin(), command.words.end(), [](const ShellWord& word) {
                return word.raw.find('\n') != std::string::npos;
            });
        const bool is_saying = is_among(command.program(), kSaying);
        const bool is_preparing = is_among(command.program(), kPreparing);
        const bool has_settings = !launch.environment.empty() || launch.threads.has_value();
        if (!is_whole || (!is_saying && (!is_preparing || has_settings))) {
            return false;
        }
        is_prepared_ = is_prepared_ || is_preparing;
        launch.setup += line + "\n";
        return true;
    }

    bool take_modules(const std::vector<ShellWord>& words) {
        if (is_prepared_ || words.size() < 3 ||
            (words[1].text != "load" && words[1].text != "add")) {
            return false;
        }
        const auto is_name = [](const ShellWord& word) {
            return is_literal(word) && !word.text.starts_with('-');
        };
        if (!std::all_of(words.begin() + 2, words.end(), is_name)) {
            return false;
        }
        for (std::size_t index = 2; index < words.size(); ++index) {
            launch.modules.push_back(words[index].text);
        }
        return true;
    }

    bool take_variables(const std::vector<ShellWord>& words) {
        for (std::size_t index = 1; index < words.size(); ++index) {
            const ShellWord& word = words[index];
            const auto equals = word.text.find('=');
            const std::string name = word.text.substr(0, equals);
            if (equals == std::string::npos || !launchers::check_variable(name).because.empty()) {
                return false;
            }
            const std::string value = word.text.substr(equals + 1);
            if (name == "OMP_NUM_THREADS") {
                const bool is_all =
                    value == "$SLURM_CPUS_PER_TASK" || value == "${SLURM_CPUS_PER_TASK}";
                if (is_all && !options_.fields.contains("resources.cpus-per-task")) {
                    return false;
                }
                launch.threads = is_all ? place_.cpus : whole_number(value);
                if (!launch.threads || *launch.threads == 0) {
                    return false;
                }
                continue;
            }
            if (!is_literal(word) || !is_harmless(name) || value.starts_with('@')) {
                return false;
            }
            launch.environment[name] = value;
        }
        return true;
    }

    /// Variables that neither the runtime nor our script sets.
    static bool is_harmless(std::string_view name) {
        constexpr std::array<std::string_view, 6> kKeptVariables{
            "HOME", "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "TMPDIR", "SHELL"};
        return !is_among(name, kKeptVariables) && !name.starts_with("OMP_") &&
               name.find("_NUM_THREADS") == std::string_view::npos && !name.starts_with("SLURM_") &&
               !name.starts_with("SRUN_") && !name.starts_with("PBS_") &&
               !name.starts_with("CYBELE_") && !name.starts_with("OMPI_") &&
               !name.starts_with("UCX_");
    }

    bool take_launch(const ShellCommand& command) {
        for (const ShellWord& word : command.words) {
            if (!is_literal(word)) {
                return false;
            }
            words_.push_back(word.text);
        }
        if (words_.empty() || words_.front().find('=') != std::string::npos) {
            return false;
        }
        return take_starter() && take_container() && take_program();
    }

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
        bool has_count = is_srun; // srun starts as many as were asked for
        const auto is = [](const std::string& value, std::uint64_t number) {
            return whole_number(value) == number;
        };
        const bool is_read = take_options(
            is_srun ? Starter::kSrun : Starter::kOpenMpi,
            [&](const std::string& name, const std::string& value) {
                if (name == "-n" || name == "--ntasks" || name == "-np" || name == "--np") {
                    has_count = true;
                    return is(value, place_.tasks);
                }
                if (is_srun && (name == "-N" || name == "--nodes")) {
                    return is(value, place_.nodes);
                }
                if (is_srun && (name == "-c" || name == "--cpus-per-task")) {
                    return is(value, place_.cpus);
                }
                launch.pmi = value;
                return is_srun && name == "--mpi" && (value == "pmix" || value == "pmi2");
            });
        const bool is_right_place = is_srun == (script_.reader == Reader::kSlurm) || !is_srun;
        return is_read && has_count && place_.is_exact && place_.tasks > 1 && is_right_place;
    }

    bool take_container() {
        constexpr std::array<std::string_view, 2> kRuntimes{"apptainer", "singularity"};
        if (at_ + 2 >= words_.size() || !is_among(words_[at_], kRuntimes)) {
            return at_ < words_.size() && !is_among(last_part(words_[at_]), kRuntimes);
        }
        const std::string action = words_[at_ + 1];
        at_ += 2;
        bool has_gpu_option = false;
        const bool is_read = take_options(
            Starter::kContainer, [&](const std::string& name, const std::string& value) {
                if (name == "--nv") {
                    has_gpu_option = true;
                    return true;
                }
                if (name != "-B" && name != "--bind") {
                    return false;
                }
                const bool is_bind =
                    launchers::check_bind(value).because.empty() && value.front() == '/';
                launch.binds.push_back(value);
                return is_bind;
            });
        // The option goes with the Job's GPUs, not without.
        const bool has_gpus = options_.fields.contains("resources.gpus-per-node");
        if (!is_read || at_ == words_.size() || has_gpu_option != has_gpus) {
            return false;
        }
        launch.image = words_[at_++];
        const bool is_file = launch.image.ends_with(".sif");
        const bool is_exec = action == "exec" && at_ < words_.size();
        const bool is_run = action == "run" && at_ == words_.size();
        return is_file && (is_exec || is_run);
    }

    bool take_program() {
        launch.command.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
        if (launch.command.empty()) {
            return !launch.image.empty();
        }
        constexpr std::array<std::string_view, 22> kNotPrograms{
            "if",     "for",   "while", "until",  "case",   "select", "function", "time",
            "source", ".",     "eval",  "exec",   "export", "wait",   "exit",     "cd",
            "module", "alias", "trap",  "ulimit", "conda",  "{"};
        const std::string& first = launch.command.front();
        const bool is_free = first.starts_with('-') || is_among(first, kNotPrograms) ||
                             first == "torchrun" || first == "srun" || first == "mpirun" ||
                             first == "mpiexec" || first == "echo";
        return !is_free;
    }

    const BatchScript& script_;
    const BatchOptions& options_;
    Place place_;
    std::vector<std::string> words_;
    std::size_t at_ = 0;
    bool enters_submit_directory_ = false;
    bool is_prepared_ = false; ///< modules that come later would be loaded too early
};

/// Options that change nothing of what is started, nor of its outputs.
bool is_free_word(const std::string& word) {
    constexpr std::array<std::string_view, 24> kFree{
        "--mail-type",  "--mail-user",  "--exclude",    "--nodelist", "--reservation", "--licenses",
        "--comment",    "--constraint", "--dependency", "--begin",    "--nice",        "--qos",
        "--partition",  "--switches",   "--tmp",        "--mem",      "--mem-per-cpu", "--requeue",
        "--no-requeue", "--contiguous", "--clusters",   "--wckey",    "--deadline",    "--time"};
    return is_among(std::string_view(word).substr(0, word.find('=')), kFree) ||
           word.starts_with("-W group_list") || word.starts_with("-M ") || word.starts_with("-m ");
}

bool is_shell_of_launch(const BatchScript& script) {
    const std::vector<std::string> words = shell_words_of(script);
    const std::string name = shell_name_of(script);
    return words.size() == 1 && (name == "bash" || name == "sh") && !script.lines.empty() &&
           script.lines.front().starts_with("#!");
}

} // namespace

std::optional<TypedLaunch> typed_launch(const BatchScript& script, const BatchOptions& options) {
    const bool is_all_fields =
        options.refused.empty() &&
        std::all_of(options.words.begin(), options.words.end(), is_free_word);
    const bool is_plain = std::all_of(script.odd.begin(), script.odd.end(), [](const OddLine& odd) {
        return odd.why == OddLine::Why::kComment;
    });
    if (!is_all_fields || !is_plain || !is_shell_of_launch(script) || script.commands.empty()) {
        return std::nullopt;
    }
    Understanding understanding(script, options);
    if (!understanding.read()) {
        return std::nullopt;
    }
    TypedLaunch launch = std::move(understanding.launch);
    const std::uint64_t cpus =
        std::max<std::uint64_t>(number_in(options, "resources.cpus-per-task"), 1);
    // More threads than cores are refused by a launch of ours; without a count there is no limit.
    if (launch.threads && *launch.threads > cpus) {
        return std::nullopt;
    }
    return launch;
}

} // namespace cybele::schedulers
