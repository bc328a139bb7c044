// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/convert.hpp"

#include "launchers/documents/job.hpp"
#include "schedulers/reading/convert_batch.hpp"
#include "schedulers/reading/script_shell.hpp"
#include "schedulers/reading/typed_launch.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/yaml_print.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

std::string flow_list(const std::vector<std::string>& items) {
    std::string text;
    for (const auto& item : items) {
        text += (text.empty() ? "" : ", ") + yaml::double_quoted(item);
    }
    return "[" + text + "]";
}

/// Whether outputs are named by words that no field carries.
bool has_output_words(const BatchOptions& options) {
    return std::ranges::any_of(options.words, [](const std::string& word) {
        return word.starts_with("--output") || word.starts_with("--error");
    });
}

/// Files of the batch system's own choice, which a launch of ours names otherwise.
bool put_outputs(const BatchScript& script, BatchOptions& options) {
    auto& fields = options.fields;
    if (has_output_words(options)) {
        return !fields.contains("output.stdout") && !fields.contains("output.stderr");
    }
    const bool has_array = fields.contains("array");
    const bool has_output = fields.contains("output.stdout");
    if (script.reader == Reader::kSlurm || script.reader == Reader::kNone) {
        if (!has_output) {
            fields["output.stdout"] =
                yaml::double_quoted(has_array ? "slurm-%j_%a.out" : "slurm-%j.out");
        }
        fields.emplace("output.stderr", fields["output.stdout"]);
        return true;
    }
    if (has_array || !has_output) {
        const bool is_joined = script.find("join") != nullptr;
        fields["output.stdout"] = yaml::double_quoted("%x.o%j");
        fields["output.stderr"] = yaml::double_quoted(is_joined ? "%x.o%j" : "%x.e%j");
        return !has_array && !has_output;
    }
    return fields.contains("output.stderr");
}

/// Tasks of one node are written as those of each node, as launches of ours have them. Of one
/// process the script of Slurm says what is written here, and the job's variables show it.
void settle_tasks(const BatchScript& script,
                  const TypedLaunch& launch,
                  std::map<std::string, std::string>& fields) {
    if (launch.kind == "serial" && script.reader == Reader::kSlurm) {
        return;
    }
    const auto tasks = fields.find("resources.tasks");
    const auto nodes = fields.find("resources.nodes");
    const bool is_one_each =
        tasks != fields.end() && nodes != fields.end() && tasks->second == nodes->second;
    if (tasks != fields.end() && !is_one_each && !fields.contains("resources.tasks-per-node")) {
        fields["resources.tasks-per-node"] = tasks->second;
    }
    fields.erase("resources.tasks");
    if (fields["resources.tasks-per-node"].empty() || fields["resources.tasks-per-node"] == "1") {
        fields.erase("resources.tasks-per-node");
    }
}

std::string launch_text(const TypedLaunch& launch) {
    std::string settings;
    const auto put = [&settings](const char* name, const std::string& value) {
        settings += value.empty() ? "" : fmt::format(", {}: {}", name, value);
    };
    put("exact", launch.is_exact ? "true" : "");
    put("launcher", launch.launcher);
    put("pmi", launch.pmi);
    put("binding", launch.binding);
    put("threads", launch.threads);
    put("options", launch.options.empty() ? "" : flow_list(launch.options));
    return settings.empty() ? launch.kind : fmt::format("{{kind: {}{}}}", launch.kind, settings);
}

/// The options without those that each script of ours has by itself, if it is not one with `exact`.
BatchOptions without_own_words(const BatchScript& script, BatchOptions options) {
    auto& fields = options.fields;
    const bool is_slurm = script.reader == Reader::kSlurm || script.reader == Reader::kNone;
    const auto each = fields.find("resources.tasks-per-node");
    const bool is_one_task =
        each != fields.end() && each->second == "1" && !fields.contains("resources.nodes");
    const auto nodes = fields.find("resources.nodes");
    const bool has_nodes = nodes != fields.end() && nodes->second != "1";
    const auto count = std::erase_if(options.words, [&](const std::string& word) {
        return is_slurm ? word == "--export=ALL" || (word == "--ntasks=1" && is_one_task)
                        : word == "-j oe" || (word == "-l place=scatter" && has_nodes &&
                                              script.reader == Reader::kPbspro);
    });
    options.in_fields += count;
    if (is_slurm && is_one_task && count != 0) {
        fields.emplace("resources.tasks", "1");
    }
    return options;
}

bool reads_submit_folder(const BatchScript& script) {
    return std::ranges::any_of(script.lines, [](const std::string& line) {
        return line.find("PBS_O_WORKDIR") != std::string::npos ||
               line.find("PBS_O_INITDIR") != std::string::npos;
    });
}

/// Whether a typed launch has all that `-d` and `-w` of TORQUE set.
bool keeps_submit_folder(const BatchScript& script,
                         const TypedLaunch& launch,
                         std::vector<Remainder>& why) {
    const bool is_lost =
        sets_submit_folder(script) &&
        (launch.is_exact || script.find("submit-folder") != nullptr || reads_submit_folder(script));
    if (is_lost) {
        why.push_back({0, "", "`-d` and `-w` of qsub set PBS_O_WORKDIR, too", ""});
    }
    return !is_lost;
}

/// What the batch system of the script does with it: its comments, options of a plugin, of a site.
void tell_reading(const BatchScript& script, Conversion& into) {
    const auto comment = std::ranges::find_if(
        script.odd, [&](const SuspectLine& odd) { return is_ignored_comment(script, odd); });
    if (comment != script.odd.end()) {
        into.notes.push_back({comment->line,
                              comment->text,
                              "TORQUE ignores comments after options, and OpenPBS rejects them",
                              "the Job is written without them"});
    }
    for (const Directive& directive : script.directives) {
        const bool is_of_plugin = directive.need.empty() && script.reader == Reader::kSlurm;
        const bool is_of_pbspro = script.reader == Reader::kTorque &&
                                  (directive.need == "-l ncpus" || directive.need == "-l wd" ||
                                   directive.need == "-l storage");
        const bool is_left = contains(into.left, directive.line, &Remainder::line);
        if (is_of_plugin && !is_left) {
            into.notes.push_back(
                {directive.line,
                 directive.option,
                 "sbatch itself has no such option; a plugin of the site may add it",
                 "check its spelling"});
        }
        if (is_of_pbspro) {
            into.notes.push_back({directive.line,
                                  directive.option,
                                  "the script is read as one of TORQUE",
                                  "for PBS Pro and OpenPBS, convert it with `--scheduler pbspro`"});
            break;
        }
    }
}

void sort_by_line(Conversion& conversion) {
    for (auto* list : {&conversion.left, &conversion.notes, &conversion.why_batch}) {
        std::stable_sort(
            list->begin(), list->end(), [](const Remainder& left, const Remainder& right) {
                return left.line < right.line;
            });
    }
}

/// `modules` end a job whose module is missing, where a script goes on.
void tell_modules(const BatchScript& script, Conversion& into) {
    const auto load = std::ranges::find_if(
        script.commands, [](const ShellCommand& command) { return command.program() == "module"; });
    if (load != script.commands.end() && into.yaml.find("\nmodules: [") != std::string::npos) {
        into.notes.push_back({load->line,
                              "module load",
                              "as `modules` it ends the job where a module cannot be loaded",
                              "write it under `setup` if the script also works without it"});
    }
}

/// The launch of a script, with the options that its Job keeps.
std::optional<TypedLaunch>
launch_of(const BatchScript& script, BatchOptions& options, std::vector<Remainder>& why) {
    const BatchOptions fewer = without_own_words(script, options);
    auto launch = typed_launch(script, fewer, why);
    if (launch && !launch->is_exact) {
        options = fewer;
        return launch;
    }
    std::vector<Remainder> of_more; // words that only this one would keep do not stop the first
    launch = typed_launch(script, options, why.empty() ? why : of_more);
    if (launch) {
        why.clear();
    }
    return launch;
}

/// The Job of a launch that is understood; unset where its document would not be one.
std::optional<Conversion> convert_typed(const Explanation& explanation,
                                        BatchOptions options,
                                        const std::string& name,
                                        std::vector<Remainder>& why) {
    auto launch = launch_of(explanation.script, options, why);
    if (!launch || !keeps_submit_folder(explanation.script, *launch, why)) {
        return std::nullopt;
    }
    if (!launch->is_exact && !put_outputs(explanation.script, options)) {
        why.push_back(
            {0, "", "its outputs have names that a typed launch would not give them", ""});
        return std::nullopt;
    }
    if (!launch->is_exact) {
        settle_tasks(explanation.script, *launch, options.fields);
    }
    if (launch->folds_slots) {
        options.fields["resources.cpus-per-task"] = options.fields["resources.tasks-per-node"];
        options.fields.erase("resources.tasks-per-node");
    }
    Conversion conversion;
    conversion.in_fields = options.in_fields;
    conversion.as_words = options.words.size();
    conversion.has_body = !launch->script.empty();
    const Directive* const named = explanation.script.find("name");
    if (const std::string own = own_name(explanation.script); !own.empty()) {
        options.fields.emplace("job-name", yaml::double_quoted(own));
    }
    std::string& text = conversion.yaml;
    text =
        fmt::format("kind: Job\nname: {}\n", document_name(named == nullptr ? name : named->value));
    const auto line = [&text](const char* field, const std::string& value) {
        text += value.empty() ? "" : fmt::format("{}: {}\n", field, value);
    };
    line("image", launch->image.empty() ? "" : yaml::double_quoted(launch->image));
    line("command", launch->command.empty() ? "" : flow_list(launch->command));
    line("launch", launch_text(*launch));
    line("shell", launch->shell.empty() ? "" : shell_text(explanation.script));
    line("modules", launch->modules.empty() ? "" : flow_list(launch->modules));
    line("binds", launch->binds.empty() ? "" : flow_list(launch->binds));
    text += launch->environment.empty() ? "" : "environment:\n";
    for (const auto& [variable, value] : launch->environment) {
        text += fmt::format("  {}: {}\n", variable, yaml::double_quoted(value));
    }
    write_fields(options.fields, text);
    write_words(explanation.script, options.words, text);
    text += launch->setup.empty() ? "" : "setup: " + block_text(launch->setup, 0);
    text += launch->script.empty() ? "" : "script: " + block_text(launch->script, 0);
    if (const auto job = launchers::read_job(conversion.yaml, "job.yaml"); !job) {
        const Fault& fault = job.error().faults().front();
        why.push_back({0, "", "as a typed launch the Job would be refused: " + fault.message, ""});
        return std::nullopt;
    }
    return conversion;
}

} // namespace

Result<Conversion>
convert_script(const Explanation& explanation, const std::string& name, UnplacedTasks unplaced) {
    if (explanation.script.first_command == 0) {
        return fail(ErrorCode::kInput,
                    problem("script-runs-nothing",
                            "'" + printable(explanation.script.source.file()) + "' runs nothing"),
                    "there is no command after the directives",
                    "name the script that starts the program");
    }
    CYBELE_CHECK(check_convertible(explanation.script));
    BatchOptions options = batch_options(explanation.script);
    options.gets_image = unplaced == UnplacedTasks::kOneNode;
    if (options.gets_image && options.fields.contains("resources.tasks")) {
        options.fields.emplace("resources.nodes", "1");
    }
    std::vector<Remainder> why;
    auto typed = convert_typed(explanation, std::move(options), name, why);
    // The body of a script is of the host: a caller that adds an image would move it into that.
    if (typed && (unplaced == UnplacedTasks::kAnywhere || !typed->has_body)) {
        tell_typed(explanation.script, *typed);
        tell_modules(explanation.script, *typed);
        tell_reading(explanation.script, *typed);
        sort_by_line(*typed);
        return std::move(*typed);
    }
    CYBELE_TRY(Conversion conversion, convert_to_batch(explanation, name));
    tell_reading(explanation.script, conversion);
    if (!typed) {
        conversion.why_batch = std::move(why);
    }
    sort_by_line(conversion);
    return conversion;
}

} // namespace cybele::schedulers
