// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_launch.hpp"

#include "launchers/documents/job.hpp"
#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/reading/asked_parts.hpp"
#include "schedulers/reading/convert_batch.hpp"
#include "schedulers/reading/launcher_options.hpp"
#include "schedulers/reading/script_shell.hpp"
#include "schedulers/reading/typed_body.hpp"
#include "schedulers/reading/typed_options.hpp"
#include "schedulers/reading/typed_ranks.hpp"
#include "schedulers/reading/typed_script.hpp"
#include "schedulers/reading/typed_setup.hpp"
#include "schedulers/reading/typed_starter.hpp"
#include "schedulers/reading/typed_words.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// The launch, word by word.
class Understanding {
public:
    Understanding(const BatchScript& script, const BatchOptions& options, const Place& place)
        : script_(script), options_(options), place_(place) {}

    bool read(const ShellCommand& command, const TypedSetup& setup) {
        bool is_before_program = true;
        bool is_known = true;
        for (const ShellWord& word : command.words) {
            const auto value = word_value(word.raw, setup.constants);
            if (!value && is_node_file(word.raw) && !mentions(setup.text, "PBS_NODEFILE")) {
                words_.emplace_back(kNodeFile);
                continue;
            }
            if (!value && !is_before_program && is_word_of_ranks(word.raw, setup)) {
                raw_.emplace(words_.size(), word.raw);
                words_.push_back(word.raw);
                continue;
            }
            if (!value || value->empty()) {
                is_known =
                    stop(word.raw,
                         word.is_redirection ? "a typed launch redirects by `output` and `input`"
                                             : "its value is known only where the job runs");
                continue;
            }
            const auto equals = word.raw.find('=');
            const std::string name = word.raw.substr(0, equals);
            is_before_program = is_before_program && equals != std::string::npos &&
                                launchers::check_variable(name).because.empty();
            if (!is_before_program) {
                words_.push_back(*value);
            } else if (!is_harmless_variable(name) || (*value)[equals + 1] == '@') {
                is_known = stop(word.raw, "a typed launch sets this variable itself");
            } else {
                launch.environment[name] = value->substr(equals + 1);
            }
        }
        return is_known && !words_.empty() && take_starter(command) && take_container(setup) &&
               take_program() && write_ranks(setup);
    }

    TypedLaunch launch;
    std::vector<Remainder> reasons; ///< the words that are not understood; empty: read() was true

private:
    /// `$PBS_NODEFILE` as the file of hosts, which launches of ours name themselves.
    [[nodiscard]] bool is_node_file(std::string_view raw) const {
        constexpr std::array<std::string_view, 4> kForms{
            "$PBS_NODEFILE", "${PBS_NODEFILE}", "\"$PBS_NODEFILE\"", "\"${PBS_NODEFILE}\""};
        return is_of_pbs(script_) && is_one_of(raw, kForms) && words_.size() > 1 &&
               is_host_file_option(words_.back());
    }

    static bool is_host_file_option(std::string_view name) {
        constexpr std::array<std::string_view, 5> kHostFiles{
            "--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f"};
        return is_one_of(name, kHostFiles);
    }

    /// Notes a word that is not understood. Always false.
    bool stop(std::string_view what, std::string_view reason) {
        reasons.push_back({0, std::string(what), std::string(reason), ""});
        return false;
    }

    /// Whether each rank can read the program's words itself: it starts with the variables and in
    /// the directory of the script.
    [[nodiscard]] bool has_shell_of_ranks() const {
        return launch.kind == "mpi" && launch.image.empty() &&
               (launch.launcher == "srun" ? script_.reader == Reader::kSlurm : place_.nodes == 1);
    }

    bool write_ranks(const TypedSetup& setup) {
        if (raw_.empty() && !setup.changes_directory) {
            return true;
        }
        const bool is_of_launcher = !raw_.empty() && raw_.begin()->first < at_;
        if (!has_shell_of_ranks() || is_of_launcher) {
            return stop(raw_.empty() ? "cd" : raw_.begin()->second,
                        raw_.empty() ? "the launch starts in a directory that a typed launch "
                                       "cannot enter for it"
                                     : "its value is known only where the job runs");
        }
        std::map<std::size_t, std::string> raw;
        for (const auto& [at, text] : raw_) {
            raw.emplace(at - at_, text);
        }
        RankScript ranks = rank_script(launch.command, raw, setup);
        launch.script = std::move(ranks.text);
        launch.setup = std::move(ranks.setup);
        launch.command.clear();
        return launch.script.find(launchers::kIndexMark) == std::string::npos ||
               stop("", "the array's index cannot be a part of it");
    }

    /// Options up to the first other word; false: at least one is not understood.
    template <class Put>
    bool take_options(Starter starter, Put put) {
        bool is_read = true;
        while (at_ < words_.size() && words_[at_].starts_with('-')) {
            const auto equals = words_[at_].find('=');
            const std::string name = words_[at_].substr(0, equals);
            const StarterOption* const row = find_starter_option(starter, name);
            const bool may_have_value = name == "--kill-on-bad-exit"; // after `=` alone
            const bool is_of_pairs = row != nullptr && row->words == 2;
            if (row == nullptr || row->words > 2 || (is_of_pairs && equals != std::string::npos) ||
                (row->words == 0 && equals != std::string::npos && !may_have_value)) {
                return stop(words_[at_], kOption);
            }
            std::string value =
                equals == std::string::npos ? std::string() : words_[at_].substr(equals + 1);
            if (row->words > 0 && equals == std::string::npos) {
                if (++at_ == words_.size()) {
                    return stop(name, kOption);
                }
                value = words_[at_];
            }
            second_.clear(); // hydra also reads `-genv NAME=VALUE`
            if (is_of_pairs && !(starter == Starter::kHydra && value.find('=') != value.npos)) {
                if (++at_ == words_.size()) {
                    return stop(name, kOption);
                }
                second_ = words_[at_];
            }
            ++at_;
            if (!put(name, value)) {
                is_read = stop(value.empty() ? name : fmt::format("{} {}", name, value), kOption);
            }
        }
        return is_read;
    }

    /// One program of the host, next to what is asked for beyond it.
    bool take_single(const ShellCommand& command) {
        const std::string& first = words_.front();
        if (std::any_of(words_.begin() + 1, words_.end(), is_launcher_name)) {
            return stop(first, "it comes before the launcher, where a typed launch has nothing");
        }
        const bool is_one = place_.nodes == 1 && place_.tasks == 1 && place_.is_exact;
        launch.is_exact = is_more_than_one(script_, options_, place_);
        launch.folds_slots = !launch.is_exact && has_slots_of_cores(script_, options_, place_);
        return (!launch.is_exact && !launch.folds_slots) ||
               (!has_container() && leaves_rest_unused(script_, options_, command)) ||
               stop(first,
                    is_one ? "the batch system chooses a number that a typed launch would set"
                           : "one process would start in an allocation for several");
    }

    bool take_starter_options(Starter starter, bool& has_count) {
        return take_options(starter, [&](const std::string& name, const std::string& value) {
            const bool is_count =
                name == "-n" || name == "--ntasks" || name == "-np" || name == "--np";
            has_count = has_count || is_count;
            if (is_count) {
                return whole_number(value) == place_.tasks;
            }
            if (starter == Starter::kSrun) {
                return take_srun_option({options_, place_, launch}, name, value);
            }
            return is_host_file_option(name)
                       ? value == kNodeFile
                       : take_mpirun_option(
                             {options_, place_, launch}, starter, name, {value, second_});
        });
    }

    bool take_starter(const ShellCommand& command) {
        constexpr std::array<std::string_view, 4> kMpirun{
            "mpirun", "mpiexec", "mpiexec.hydra", "orterun"};
        const std::string first = words_.front();
        const bool is_srun = first == "srun";
        if (!is_srun && !is_one_of(first, kMpirun)) {
            launch.kind = "serial";
            return take_single(command);
        }
        at_ = 1;
        launch.kind = "mpi";
        const bool is_hydra = !is_srun && !options_.gets_image && is_of_hydra(script_);
        const Starter starter = is_srun    ? Starter::kSrun
                                : is_hydra ? Starter::kHydra
                                           : Starter::kOpenMpi;
        launch.launcher = is_srun ? "srun" : is_hydra ? "hydra" : "mpirun";
        launch.pmi = is_srun ? "default" : "";
        // They start as many as were asked for.
        bool has_count = is_srun || counts_tasks_of_slurm();
        const bool is_read = take_starter_options(starter, has_count);
        // Chunks of OpenPBS may share a node, and those of a launch of ours do not.
        const auto& directives = script_.directives;
        const bool may_share = script_.reader == Reader::kPbspro && place_.nodes > 1 &&
                               std::ranges::none_of(directives, [](const Directive& each) {
                                   return each.option == "-l place" && each.value == "scatter";
                               });
        const bool is_right_place = is_srun ? script_.reader == Reader::kSlurm : !may_share;
        if (!is_read) {
            return false;
        }
        // A launch of ours would bind each rank to its cores; a script's own is bound less, if at
        // all.
        const bool may_be_bound = script_.reader == Reader::kSlurm || has_whole_nodes();
        launch.binding = !is_srun && may_be_bound && !options_.gets_image ? "none" : "";
        return (has_count || stop(first, "it says no number of ranks (`-n`)")) &&
               (is_srun || is_hydra || may_be_open_mpi(script_, has_container()) ||
                stop(first,
                     "the script does not say of which MPI it is, whose options a typed launch "
                     "gives it")) &&
               (!is_srun || !has_free_cores() ||
                stop(first,
                     "its ranks have all cores of the node, and in a typed launch one each: write "
                     "`--cpus-per-task`")) &&
               (place_.is_exact ||
                stop(first,
                     "the directives leave the number of tasks on each node to the scheduler")) &&
               (is_right_place ||
                stop(first, "a typed launch may place its ranks on other nodes")) &&
               (is_srun || place_.tasks > 1 ||
                stop(first, "the directives ask for one task, and it may start more"));
    }

    [[nodiscard]] bool has_container() const {
        return options_.gets_image || std::ranges::any_of(words_, [](std::string_view word) {
                   return is_one_of(name_of_path(word), kRuntimes);
               });
    }

    [[nodiscard]] bool has_whole_nodes() const {
        return options_.fields.contains("resources.exclusive");
    }

    /// `--exclusive` without a number of cores for each rank.
    [[nodiscard]] bool has_free_cores() const {
        return has_whole_nodes() && !options_.fields.contains("resources.cpus-per-task");
    }

    /// Under Slurm mpirun starts a rank per task, where the script says how many.
    [[nodiscard]] bool counts_tasks_of_slurm() const {
        const auto& fields = options_.fields;
        return script_.reader == Reader::kSlurm && place_.cpus == 1 && !has_whole_nodes() &&
               (fields.contains("resources.tasks") || fields.contains("resources.tasks-per-node"));
    }

    /// An image, or else a container that is started like any other program of the host.
    bool take_container(const TypedSetup& setup) {
        const std::size_t begin = at_;
        const std::size_t known = reasons.size();
        // What is read from elsewhere may set variables that a container of ours would not see. A
        // program of the host is started by the shell that read it.
        const bool is_of_host =
            launch.kind == "serial" && !has_container() && is_no_function(words_.front());
        const bool is_known = (!setup.reads_elsewhere && !setup.loads_any_module) || is_of_host ||
                              options_.gets_image;
        if (raw_.empty() && !setup.changes_directory && is_known && take_image()) {
            return true;
        }
        if (launch.kind != "mpi" || begin >= words_.size()) {
            return false;
        }
        launch.image.clear();
        launch.binds.clear();
        at_ = begin;
        reasons.resize(known);
        return true;
    }

    bool take_image() {
        if (at_ + 2 >= words_.size() || !is_one_of(words_[at_], kRuntimes)) {
            return (at_ < words_.size() && !is_one_of(name_of_path(words_[at_]), kRuntimes)) ||
                   stop(words_[std::min(at_, words_.size() - 1)],
                        "no program follows that is known as one");
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
        if (!is_read) {
            return false;
        }
        if (at_ == words_.size()) {
            return stop(words_.back(), "no image follows");
        }
        if (has_gpu_option != has_gpus) {
            return stop(has_gpu_option ? "--nv" : words_[at_],
                        has_gpu_option ? "it goes with GPUs of the Job, which asks for none"
                                       : "a typed launch with GPUs would add `--nv`");
        }
        launch.image = words_[at_++];
        const bool is_file = launch.image.ends_with(".sif") && !has_index(launch.image);
        const bool is_exec = action == "exec" && at_ < words_.size();
        const bool is_run = action == "run" && at_ == words_.size();
        return (is_file && (is_exec || is_run)) ||
               stop(launch.image, "it is not one image file with `exec` or a plain `run`");
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
        if (contains(launch.command, kNodeFile)) {
            return stop("$PBS_NODEFILE", "its value is known only where the job runs");
        }
        // Words of the shell, and programs that start several themselves.
        constexpr std::array<std::string_view, 6> kNotPrograms{
            "time", "exec", "eval", "torchrun", "accelerate", "deepspeed"};
        const std::string& first = launch.command.front();
        return (!first.starts_with('-') && !has_index(first) &&
                name_of_path(first).find('$') == std::string_view::npos &&
                !is_one_of(name_of_path(first), kNotPrograms) &&
                !is_launcher_name(name_of_path(first))) ||
               stop(first, "it is not a program with a name that starts no others");
    }

    static constexpr std::array<std::string_view, 2> kRuntimes{"apptainer", "singularity"};
    static constexpr std::string_view kOption = "no typed launch has this option or value";
    static constexpr std::string_view kNodeFile = "\n"; // no word of a script

    const BatchScript& script_;
    const BatchOptions& options_;
    const Place& place_;
    std::vector<std::string> words_;
    std::map<std::size_t, std::string> raw_; ///< by their place: words that each process reads
    std::size_t at_ = 0;
    std::string second_; ///< of an option with two words, as `--mca btl self`
};

/// A launch of which each word is known before the job runs.
std::optional<TypedLaunch> launch_of_words(const BatchScript& script,
                                           const BatchOptions& options,
                                           const Body& body,
                                           const Place& place,
                                           std::vector<Remainder>& why) {
    const auto stop = [&](const std::string& text, std::string because) {
        why.push_back({body.launch->line, text, std::move(because), ""});
    };
    const std::string command_text = text_of_command(*body.launch);
    const Statement& last = body.statements[body.place];
    if (body.place + 1 != body.statements.size() && !ends_with_code_of_launch(body)) {
        const ShellCommand& next = *body.statements[body.place + 1].commands.front();
        why.push_back({next.line,
                       text_of_command(next),
                       "it runs after the launch, and the exit status of the script is then its "
                       "own",
                       ""});
    }
    if (body.reads_arguments) {
        stop(command_text, "the script reads its arguments");
    }
    if (!start_of_shell(script)) {
        stop(command_text, shell_without_launch(script));
    }
    if (last.commands.size() != 1 || last.is_conditional) {
        stop(command_text, "it is a part of a condition, a pipe or a list of commands");
    }
    auto setup = typed_setup(script, options, body, place, why);
    if (setup && starts_at_home_of(script) && !setup->enters_submit_directory) {
        stop(command_text, "it runs in the home directory, without `cd $PBS_O_WORKDIR` before");
    }
    if (setup && setup->enters_submit_directory && options.fields.contains("workdir")) {
        stop(command_text, "the directives name a directory, and the script enters another one");
    }
    // Words of a condition, and values of a set-up that is not understood, would mislead.
    if (!setup || last.commands.size() != 1 || last.is_conditional) {
        return std::nullopt;
    }
    Understanding understanding(script, options, place);
    if (!understanding.read(*body.launch, *setup) && understanding.reasons.empty()) {
        stop(command_text, "a typed launch could not start the same");
    }
    for (const Remainder& reason : understanding.reasons) {
        stop(reason.text.empty() ? command_text : reason.text, reason.because);
    }
    if (!why.empty()) {
        return std::nullopt;
    }
    TypedLaunch launch = std::move(understanding.launch);
    if (const auto lost = lost_export(launch, *setup, place); !lost.empty()) {
        stop(command_text, std::string(lost));
        return std::nullopt;
    }
    launch.modules = std::move(setup->modules);
    // What the set-up hands over to the ranks comes last.
    launch.setup = setup->text + (launch.setup.empty() ? "" : setup->last_options + launch.setup);
    launch.environment.merge(setup->environment);
    // A program may start processes, or submit jobs, which would inherit the number. A Job that is
    // made for a new image need not do what the script did there.
    const bool has_cores =
        launch.kind != "serial" || options.fields.contains("resources.cpus-per-task");
    const bool is_for_tasks = options.gets_image && has_cores && !setup->keeps_threads;
    launch.threads = setup->threads ? std::to_string(*setup->threads) : is_for_tasks ? "" : "own";
    return launch;
}

} // namespace

std::optional<TypedLaunch>
typed_launch(const BatchScript& script, const BatchOptions& options, std::vector<Remainder>& why) {
    why.clear();
    const auto& words = options.words;
    const bool is_bound = std::ranges::any_of(
        words, [&](const std::string& word) { return is_bound_word(script, word); });
    const auto body = body_with_one_launch(script, why);
    why.insert(why.end(), options.refused.begin(), options.refused.end());
    for (const SuspectLine& odd : script.odd) {
        if (odd.why != SuspectLine::Why::kComment && odd.why != SuspectLine::Why::kExtra) {
            why.push_back(
                {odd.line, odd.text, "it looks like a directive, and may be meant as one", ""});
        }
    }
    constexpr const char* kOfBatch = "only `launch: batch` has this";
    if (options.fields.contains("resources.cpus-per-gpu")) {
        why.push_back({script.line_of("cpus-per-gpu"), "--cpus-per-gpu", kOfBatch, ""});
    }
    if (const std::size_t line = line_of_burst_buffer(script); line != 0) {
        why.push_back({line, "", kOfBatch, ""});
    }
    if (!why.empty() || !body) {
        return std::nullopt;
    }
    for (const std::string& word : words) {
        if (!is_launch_word(script, word)) {
            why.push_back({line_of_word(script, word), word, reason_of_word(script, word), ""});
        }
    }
    const Place place = place_of_options(options);
    if (has_outputs_in_folder(script, options)) {
        why.push_back({0, "", "a launch would end where the folder of its outputs is missing", ""});
    } else if (auto launch = launch_of_words(script, options, *body, place, why)) {
        return launch;
    }
    return launch_of_script(script, options, *body, place, is_bound);
}

} // namespace cybele::schedulers
