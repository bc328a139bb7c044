// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_setup.hpp"

#include "launchers/documents/job.hpp"
#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/reading/asked_parts.hpp"
#include "schedulers/reading/script_shell.hpp"
#include "schedulers/reading/typed_script.hpp"
#include "support/find.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

std::uint64_t number_in(const BatchOptions& options, const std::string& field) {
    const auto found = options.fields.find(field);
    return found == options.fields.end() ? 0 : whole_number(found->second).value_or(0);
}

/// Container runtimes, compilers and MPIs: their modules set no variable that a container of ours
/// does not get, such as PYTHONPATH.
bool is_known_module(std::string_view name) {
    constexpr std::array<std::string_view, 14> kKnown{"apptainer",
                                                      "singularity",
                                                      "singularityce",
                                                      "singularity-ce",
                                                      "singularitypro",
                                                      "gcc",
                                                      "cuda",
                                                      "rocm",
                                                      "openmpi",
                                                      "mpich",
                                                      "mvapich2",
                                                      "gompi",
                                                      "foss",
                                                      "squashfs"};
    return contains(kKnown, text::lowered(name.substr(0, name.find('/'))));
}

bool is_thread_variable(std::string_view name) {
    return name.starts_with("OMP_") || name.find("_NUM_THREADS") != std::string_view::npos;
}

/// A line of the set-up that may stay as it is.
struct KeptLine {
    std::string text;
    bool is_constant = false;                                ///< known values alone …
    std::vector<std::pair<std::string, std::string>> values; ///< … with their names
    bool is_exported = false;
    bool is_needed = true;     ///< false: where no later line reads a name, a field says the same
    bool is_option = false;    ///< of the shell, for the lines that come later
    bool sets_threads = false; ///< `OMP_NUM_THREADS`
};

/// The set-up, statement by statement.
class SetupReading {
public:
    SetupReading(const BatchScript& script, const BatchOptions& options, const Place& place)
        : options_(options), place_(place), starts_at_home_(starts_at_home_of(script)) {
        add_constants(script);
        if (std::string start = start_of_shell(script).value_or(""); !start.empty()) {
            lines_.push_back({std::move(start), false, {}, false, true});
            is_prepared_ = true; // modules come after the profile
        }
    }

    /// Appends each line that is not understood to `why`.
    std::optional<TypedSetup> read(const Body& body, std::vector<Remainder>& why) {
        const std::size_t reasons = why.size();
        for (std::size_t index = 0; index < body.place; ++index) {
            const Statement& statement = body.statements[index];
            if (!take(statement)) {
                const ShellCommand& command = *statement.commands.front();
                why.push_back(
                    {command.line,
                     text_of_command(command),
                     "a typed launch cannot run it before the program with the same effect",
                     ""});
            }
        }
        if (why.size() == reasons && !settle(text_of_command(*body.launch))) {
            why.push_back(
                {body.launch->line,
                 text_of_command(*body.launch),
                 "the script sets numbers of threads that a typed launch would set otherwise",
                 ""});
        }
        if (why.size() != reasons) {
            return std::nullopt;
        }
        return std::move(setup_);
    }

private:
    /// Numbers of the allocation that the batch system puts into variables.
    void add_constants(const BatchScript& script) {
        const auto has = [&](const char* field) { return options_.fields.contains(field); };
        const auto put = [&](const char* name, std::uint64_t number) {
            setup_.constants[name] = std::to_string(number);
        };
        if (script.reader == Reader::kSlurm && place_.is_exact) {
            put("SLURM_NNODES", place_.nodes);
            put("SLURM_JOB_NUM_NODES", place_.nodes);
            if (has("resources.tasks") || has("resources.tasks-per-node")) {
                put("SLURM_NTASKS", place_.tasks);
                put("SLURM_NPROCS", place_.tasks);
            }
        }
        if (script.reader == Reader::kSlurm && has("resources.cpus-per-task")) {
            put("SLURM_CPUS_PER_TASK", place_.cpus);
        }
        if (has("array")) {
            const char* const index = script.reader == Reader::kSlurm    ? "SLURM_ARRAY_TASK_ID"
                                      : script.reader == Reader::kTorque ? "PBS_ARRAYID"
                                                                         : "PBS_ARRAY_INDEX";
            setup_.constants[index] = launchers::kIndexMark;
        }
    }

    bool take(const Statement& statement) {
        const ShellCommand& command = *statement.commands.front();
        const bool is_alone = statement.commands.size() == 1 && !statement.is_conditional;
        if (is_alone && !command.words.front().is_redirection) {
            const std::string_view name = command.program();
            if (name == "set") {
                lines_.push_back({statement.text, false, {}, false, true, true});
                return is_known_set(command);
            }
            if (name == "cd") {
                return take_directory(command, statement);
            }
            if (name == "module" && take_modules(command)) {
                return true;
            }
            if (name.empty() || name == "export") {
                return take_values(command, statement.text, name == "export");
            }
        }
        return take_lines(statement);
    }

    static bool is_known_set(const ShellCommand& command) {
        constexpr std::array<std::string_view, 10> kKnown{
            "-e", "-u", "-eu", "-ue", "-o", "-eo", "-euo", "pipefail", "errexit", "nounset"};
        return std::all_of(command.words.begin() + 1,
                           command.words.end(),
                           [&](const ShellWord& word) { return is_one_of(word.text, kKnown); });
    }

    /// `cd $SLURM_SUBMIT_DIR` and its like, quoted or not.
    static bool enters_submit_directory(const ShellCommand& command) {
        constexpr std::array<std::string_view, 4> kForms{
            "$PBS_O_WORKDIR", "${PBS_O_WORKDIR}", "$SLURM_SUBMIT_DIR", "${SLURM_SUBMIT_DIR}"};
        return command.words.size() == 2 && is_one_of(command.words[1].text, kForms);
    }

    bool take_directory(const ShellCommand& command, const Statement& statement) {
        if (!setup_.changes_directory && enters_submit_directory(command)) {
            setup_.enters_submit_directory = true;
            return true;
        }
        return leaves_directory() && take_lines(statement);
    }

    /// Notes that the launch starts in another directory; false where it is not known in which one
    /// the script is so far.
    bool leaves_directory() {
        setup_.changes_directory = setup_.enters_submit_directory || !starts_at_home_;
        return setup_.changes_directory;
    }

    bool take_modules(const ShellCommand& command) {
        const auto& words = command.words;
        const bool has_values =
            std::ranges::any_of(lines_, [](const KeptLine& line) { return !line.is_option; });
        // Modules read variables, such as MODULEPATH, and set some that the script sets before.
        if (is_prepared_ || has_values || words.size() < 3 ||
            (words[1].text != "load" && words[1].text != "add")) {
            return false;
        }
        std::vector<std::string> names;
        for (std::size_t index = 2; index < words.size(); ++index) {
            const auto name = word_value(words[index].raw, {});
            if (!name || name->empty() || name->starts_with('-')) {
                return false;
            }
            names.push_back(*name);
            setup_.loads_any_module = setup_.loads_any_module || !is_known_module(*name);
        }
        setup_.modules.insert(setup_.modules.end(), names.begin(), names.end());
        return true;
    }

    /// `NAME=VALUE …` and `export NAME=VALUE …`.
    bool take_values(const ShellCommand& command, const std::string& text, bool is_exported) {
        KeptLine line{text, true, {}, is_exported, true};
        for (std::size_t index = is_exported ? 1 : 0; index < command.words.size(); ++index) {
            const std::string& raw = command.words[index].raw;
            const auto equals = raw.find('=');
            std::string name = raw.substr(0, equals);
            const bool is_appended = name.ends_with('+');
            name.resize(name.size() - (is_appended ? 1 : 0));
            if (!launchers::check_variable(name).because.empty() || is_of_shell(name)) {
                return false;
            }
            const auto value =
                equals == std::string::npos || is_appended
                    ? std::nullopt
                    : word_value(std::string_view(raw).substr(equals + 1), setup_.constants);
            if (value && name == "PATH") {
                return false; // our script's own programs would be lost
            }
            if (is_exported && name == "OMP_NUM_THREADS") {
                setup_.threads = value ? whole_number(*value) : std::nullopt;
                line.is_needed = command.words.size() != 2;
                line.sets_threads = true;
                if (!setup_.threads || *setup_.threads == 0) {
                    return false;
                }
            } else if (is_thread_variable(name) && (!is_exported || !value)) {
                return false;
            }
            // Launches of ours give srun this number, too.
            const bool is_same_number =
                name == "SRUN_CPUS_PER_TASK" && value == std::to_string(place_.cpus);
            if (is_exported) {
                setup_.exported.insert(name);
            }
            if (is_exported && !is_same_number) {
                note_export(name);
            }
            if (value) {
                setup_.constants[name] = *value;
                line.values.emplace_back(name, *value);
            } else if (equals != std::string::npos) {
                setup_.constants.erase(name);
            }
            line.is_constant = line.is_constant && value.has_value();
        }
        lines_.push_back(std::move(line));
        return true;
    }

    void note_export(std::string_view name) {
        constexpr std::array<std::string_view, 7> kHidden{
            "LD_PRELOAD", "LD_AUDIT", "PYTHON", "PERL5LIB", "APPTAINER", "SINGULARITY", "CYBELE_"};
        constexpr std::array<std::string_view, 7> kSteering{
            "OMPI_", "PRTE_", "PMIX_", "PMI_", "I_MPI_", "SRUN_", "UCX_"};
        setup_.hides_from_container =
            setup_.hides_from_container || starts_with_one_of(name, kHidden);
        setup_.steers_srun =
            setup_.steers_srun || name.starts_with("SLURM_") || name.starts_with("SRUN_");
        setup_.steers_launcher =
            setup_.steers_launcher || setup_.steers_srun || starts_with_one_of(name, kSteering);
    }

    /// Lines that run before the program as they stand.
    bool take_lines(const Statement& statement) {
        constexpr std::array<std::string_view, 4> kNotBefore{"exec", "return", "set", "shopt"};
        constexpr std::array<std::string_view, 3> kMoves{"cd", "pushd", "popd"};
        constexpr std::array<std::string_view, 9> kReadsElsewhere{
            "source", ".", "eval", "module", "ml", "conda", "mamba", "micromamba", "spack"};
        for (const ShellCommand* command : statement.commands) {
            const std::string_view name = command->program();
            for (const ShellWord& word : command->words) {
                setup_.reads_elsewhere =
                    setup_.reads_elsewhere || is_one_of(word.text, kReadsElsewhere);
                if (is_one_of(word.text, kNotBefore) ||
                    (is_one_of(word.text, kMoves) && !leaves_directory())) {
                    return false;
                }
                const auto equals = word.raw.find('=');
                const std::string variable = word.raw.substr(0, equals);
                if (equals == std::string::npos ||
                    !launchers::check_variable(variable).because.empty()) {
                    continue;
                }
                if (is_our_variable(variable) || is_thread_variable(variable)) {
                    return false;
                }
                setup_.constants.erase(variable);
                note_export(variable);
            }
            if (name == "source" || name == "." || name == "eval") {
                forget_values(); // any of them may be another then
            }
            is_prepared_ = is_prepared_ || (name != "echo" && name != "date" && name != "printf");
        }
        lines_.push_back({statement.text, false, {}, false, true});
        return true;
    }

    void forget_values() {
        std::erase_if(setup_.constants, [](const auto& each) {
            return !each.first.starts_with("SLURM_") && !each.first.starts_with("PBS_");
        });
    }

    /// Which lines stay, and which become variables of the environment.
    bool settle(const std::string& launch) {
        std::string later;
        setup_.keeps_threads = setup_.threads && setup_.reads_elsewhere;
        if (setup_.keeps_threads) {
            setup_.threads.reset();
        }
        bool is_last = true; // so far: the environment is set after the set-up
        for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
            if (line->is_option && later.empty()) {
                setup_.last_options.insert(0, line->text);
                continue;
            }
            const bool is_read = std::ranges::any_of(line->values, [&](const auto& value) {
                return mentions(later, value.first) ||
                       (mentions(launch, value.first) && !setup_.constants.contains(value.first));
            });
            const bool stays = setup_.keeps_threads && line->sets_threads;
            if (is_last && line->is_exported && line->is_constant && !is_read && !stays &&
                becomes_field(*line)) {
                continue;
            }
            if (line->is_needed || is_read || stays) {
                if (std::ranges::any_of(line->values, [](const auto& value) {
                        return is_thread_variable(value.first) && value.first != "OMP_NUM_THREADS";
                    })) {
                    return false; // ours would count
                }
                is_last = is_last && line->is_constant && !line->is_exported;
                later += line->text;
                setup_.text.insert(0, line->text);
            }
        }
        return true;
    }

    bool becomes_field(const KeptLine& line) {
        const auto fits = [](const auto& value) {
            return value.first == "OMP_NUM_THREADS" ||
                   ((is_harmless_variable(value.first) || is_thread_variable(value.first)) &&
                    !value.second.starts_with('@'));
        };
        if (!std::ranges::all_of(line.values, fits)) {
            return false;
        }
        for (const auto& [name, value] : line.values) {
            if (name != "OMP_NUM_THREADS") {
                setup_.environment.emplace(name, value); // the last one counts
            }
        }
        return true;
    }

    const BatchOptions& options_;
    const Place& place_;
    const bool starts_at_home_;
    TypedSetup setup_;
    std::vector<KeptLine> lines_;
    bool is_prepared_ = false; ///< modules that come later would be loaded too early
};

} // namespace

Place place_of_options(const BatchOptions& options) {
    Place place;
    const std::uint64_t nodes = number_in(options, "resources.nodes");
    const std::uint64_t tasks = number_in(options, "resources.tasks");
    const std::uint64_t each = number_in(options, "resources.tasks-per-node");
    place.nodes = std::max<std::uint64_t>(nodes, 1);
    place.cpus = std::max<std::uint64_t>(number_in(options, "resources.cpus-per-task"), 1);
    place.tasks = tasks != 0 ? tasks : place.nodes * std::max<std::uint64_t>(each, 1);
    const bool is_one = place.tasks == 1 && place.nodes == 1;
    // Slurm gives each node a task at least.
    const bool is_even =
        nodes != 0 && (each != 0 ? place.tasks == place.nodes * each
                                 : tasks == 0 || place.nodes == 1 || place.tasks == place.nodes);
    // GPUs of the job in all may be those of several nodes.
    const auto gpus = options.fields.find("resources.gpus");
    const bool has_free_nodes = nodes == 0 && gpus != options.fields.end() && gpus->second != "1" &&
                                !gpus->second.starts_with("{count: 1,");
    place.is_exact = (is_one || is_even) && !has_free_nodes;
    return place;
}

// Of the templates; a set-up may assign them, and may not declare them to be something else.
constexpr std::string_view kOurVariables =
    " array_index code container count cpus digest end ended exported file folder folders format "
    "good group help host "
    "hosts hosts_of_job image image_folder inside job_number key keys launcher mode module "
    "name names nap new nodes options owner pause payload pieces place private probe process "
    "record required runtime said scratch seen signal sizes start state turns used verified "
    "verifier what word workdir ";

bool is_of_shell(std::string_view name) {
    constexpr std::array<std::string_view, 5> kOfShell{"IFS", "HOME", "PWD", "ENV", "BASH_ENV"};
    return is_one_of(name, kOfShell) || name.starts_with("cybele_");
}

bool is_our_variable(std::string_view name) {
    return is_of_shell(name) ||
           kOurVariables.find(" " + std::string(name) + " ") != std::string_view::npos ||
           name.starts_with("host_");
}

bool is_harmless_variable(std::string_view name) {
    constexpr std::array<std::string_view, 6> kKeptVariables{
        "HOME", "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "TMPDIR", "SHELL"};
    constexpr std::array<std::string_view, 6> kSetElsewhere{
        "SLURM_", "SRUN_", "PBS_", "CYBELE_", "OMPI_", "UCX_"};
    return !is_one_of(name, kKeptVariables) && !is_thread_variable(name) &&
           !starts_with_one_of(name, kSetElsewhere);
}

std::optional<TypedSetup> typed_setup(const BatchScript& script,
                                      const BatchOptions& options,
                                      const Body& body,
                                      const Place& place,
                                      std::vector<Remainder>& why) {
    return SetupReading(script, options, place).read(body, why);
}

} // namespace cybele::schedulers
