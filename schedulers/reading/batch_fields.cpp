// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/dialects/needs.hpp"
#include "schedulers/reading/asked_parts.hpp"
#include "schedulers/reading/batch_fields_parts.hpp"
#include "schedulers/reading/option_table.hpp"
#include "support/duration.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"
#include "support/yaml_print.hpp"
#include "templates/renderer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

constexpr std::string_view kLettersAndDigits =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

} // namespace

std::optional<std::uint64_t> count_of(const std::string& text) {
    const auto count = whole_number(text);
    const bool is_good = count && *count > 0 && *count <= launchers::kMostTasks &&
                         text.find_first_not_of("0123456789") == std::string::npos &&
                         text.front() != '0';
    return is_good ? count : std::nullopt;
}

bool is_plain_text(const Fields& fields, const std::string& text) {
    const std::string_view more = fields.is_slurm() ? "_.-/@+=:,^&" : "_.-/@+=";
    return !text.empty() && text.front() != '-' && std::ranges::all_of(text, [&](char letter) {
        return kLettersAndDigits.find(letter) != std::string_view::npos ||
               more.find(letter) != std::string_view::npos;
    });
}

bool take_plain(Fields& fields, const Directive& directive, const char* field) {
    return is_plain_text(fields, directive.value) &&
           fields.put(field, yaml::double_quoted(directive.value));
}

namespace {

bool take_field_count(Fields& fields, const Directive& directive, const char* field) {
    const auto count = count_of(directive.value);
    return count && fields.put(field, std::to_string(*count));
}

bool take_name(Fields& fields, const Directive& directive) {
    const std::string& name = directive.value;
    const bool is_grouped = fields.is_slurm() && !name.empty() && name.front() != '-' &&
                            name.find_first_of("\"\\$`") == std::string::npos &&
                            !templates::has_control_characters(name);
    const bool is_good =
        (is_grouped || is_plain_text(fields, name)) && name.find('/') == std::string::npos;
    return is_good && fields.put("job-name", yaml::double_quoted(name));
}

template <bool kPerCpu>
bool take_slurm_memory(Fields& fields, const Directive& directive) {
    const int forms = static_cast<int>(fields.has("memory-per-node")) +
                      static_cast<int>(fields.has("memory-per-cpu")) +
                      static_cast<int>(fields.has("mem-per-gpu"));
    const auto bytes = slurm_memory(directive.value);
    if (!kPerCpu && bytes == 0U && forms == 1) {
        return fields.put("resources.memory", "all");
    }
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    if (!bytes || *bytes == 0 || *bytes % kMebibyte != 0 || forms != 1 ||
        *bytes > (std::uint64_t{1} << 50U)) {
        return false;
    }
    return fields.put(kPerCpu ? "resources.memory-per-cpu" : "resources.memory-per-node",
                      format_size(*bytes));
}

bool take_limit(Fields& fields, const Directive& directive) {
    const auto time = fields.is_slurm() ? slurm_time(directive.value) : pbs_time(directive.value);
    return time && time->count() > 0 && fields.put("resources.time", format_duration(*time));
}

bool take_gpu_count(Fields& fields, const Directive& directive) {
    if (gpu_forms(fields) > 1) {
        return false; // several ways to ask for GPUs belong together
    }
    const auto colon = directive.value.rfind(':');
    const std::string count =
        colon == std::string::npos ? directive.value : directive.value.substr(colon + 1);
    const std::string type = colon == std::string::npos ? "" : directive.value.substr(0, colon);
    const bool is_type = type.empty() || (colon != 0 && is_plain_text(fields, type) &&
                                          type.find_first_of(":,") == std::string::npos);
    if (!count_of(count) || !is_type) {
        return false;
    }
    return fields.put(
        "resources.gpus-per-node",
        type.empty() ? count
                     : fmt::format("{{count: {}, type: {}}}", count, yaml::double_quoted(type)));
}

bool take_nothing_given(Fields& fields, const Directive& directive) {
    return !directive.has_value && fields.put("resources.exclusive", "true");
}

/// `place=pack:excl` of one chunk, which is on one node in each arrangement.
bool take_exclusive_place(Fields& fields, const Directive& directive) {
    constexpr std::array<std::string_view, 4> kExclusive{
        "excl", "free:excl", "pack:excl", "scatter:excl"};
    const Directive* const select = fields.script.find("-l select");
    const std::string_view chunks = select == nullptr ? std::string_view() : select->value;
    const bool is_one = chunks == "1" || chunks.starts_with("1:");
    return fields.script.reader == Reader::kPbspro && is_one &&
           chunks.find('+') == std::string_view::npos && contains(kExclusive, directive.value) &&
           fields.put("resources.exclusive", "true");
}

bool take_all_features(Fields& fields, const Directive& directive) {
    std::string list;
    std::string_view text = directive.value;
    if (text.empty() || text.ends_with('&')) {
        return false;
    }
    while (!text.empty()) {
        const auto word = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        const bool is_word =
            !word.empty() &&
            word.find_first_not_of(fmt::format("{}_.-", kLettersAndDigits)) == word.npos;
        if (!is_word || word.front() == '-') {
            return false;
        }
        list += (list.empty() ? "" : ", ") + yaml::double_quoted(word);
    }
    return fields.put("resources.constraint", "[" + list + "]");
}

bool take_array(Fields& fields, const Directive& directive) {
    std::string_view indexes = directive.value;
    if (fields.script.reader == Reader::kSlurm && indexes.starts_with('[') &&
        indexes.ends_with(']')) {
        indexes = indexes.substr(1, indexes.size() - 2); // sbatch reads both
    }
    const auto forms = array_forms(indexes);
    const auto has = [&](std::string_view form) { return forms.contains(form); };
    // Forms that the batch system of the script may not know are left to it.
    const bool is_known = fields.script.reader == Reader::kTorque   ? !has("step")
                          : fields.script.reader == Reader::kPbspro ? !has("list") && !has("single")
                                                                    : true;
    return is_known && launchers::check_array(indexes).because.empty() &&
           fields.put("array", yaml::double_quoted(indexes));
}

/// Only `B:` reaches the script, as a Job's signal does.
bool take_pre_signal(Fields& fields, const Directive& directive) {
    constexpr std::array<std::string_view, 3> kPreSignals{"USR1", "USR2", "TERM"};
    std::string_view text = directive.value;
    const auto sign = text.find('@');
    if (!text.starts_with("B:") || sign == std::string_view::npos) {
        return false;
    }
    std::string_view name = text.substr(2, sign - 2);
    name.remove_prefix(name.starts_with("SIG") ? 3 : 0);
    const auto before = whole_number(text.substr(sign + 1));
    const bool is_known = contains(kPreSignals, name);
    if (!is_known || !before || *before < 60 || *before > 65535) {
        return false;
    }
    const Directive* const limit = fields.script.find("time");
    const auto time = limit == nullptr ? std::nullopt : slurm_time(limit->value);
    if (!time || static_cast<std::uint64_t>(time->count()) <= *before) {
        return false;
    }
    return fields.put(
        "signal",
        fmt::format("{{name: {}, before: {}}}",
                    name,
                    format_duration(std::chrono::seconds(static_cast<std::int64_t>(*before)))));
}

/// Patterns that mean the same in a Job; the ids of an array's elements do not.
bool is_same_pattern(const Fields& fields, const std::string& pattern) {
    for (std::size_t at = pattern.find('%'); at != pattern.npos; at = pattern.find('%', at + 2)) {
        const char key = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
        const bool is_known = key == 'x' || key == '%' || (key == 'j' && !fields.has("array")) ||
                              (key == 'a' && fields.options.fields.contains("array"));
        if (!is_known) {
            return false;
        }
    }
    return true;
}

bool take_slurm_output(Fields& fields, const Directive& directive) {
    const std::string& path = directive.value;
    const bool is_good = !path.empty() && path.find_first_of("\"\\$`~") == std::string::npos &&
                         path.front() != '-' && !templates::has_control_characters(path) &&
                         is_same_pattern(fields, path);
    return is_good && fields.put(directive.need == "stdout" ? "output.stdout" : "output.stderr",
                                 yaml::double_quoted(path));
}

/// `-o`, `-e` and `-j` of PBS, of which a Job knows files without variables.
bool take_pbs_output(Fields& fields, const Directive& directive) {
    const Directive* const join = fields.script.find("join");
    const Directive* const out = fields.script.find("stdout");
    const Directive* const error = fields.script.find("stderr");
    const auto is_file = [&](const Directive* each) {
        return each == nullptr ||
               (is_plain_text(fields, each->value) && !each->value.ends_with('/') &&
                each->value.find('.', each->value.rfind('/') + 1) != std::string::npos);
    };
    const bool is_joined = join != nullptr && join->value == "oe";
    if (out == nullptr || !is_file(out) || !is_file(error) || (join != nullptr && !is_joined) ||
        (is_joined && error != nullptr) || (error != nullptr && error->value == out->value)) {
        return false;
    }
    fields.put("output.stdout", yaml::double_quoted(out->value));
    const Directive* const other = is_joined ? out : error;
    if (other != nullptr) {
        fields.put("output.stderr", yaml::double_quoted(other->value));
    }
    return directive.need != "join" || is_joined;
}

template <Take kOfSlurm, Take kOfPbs>
bool by_reader(Fields& fields, const Directive& directive) {
    return fields.is_slurm() ? kOfSlurm(fields, directive) : kOfPbs(fields, directive);
}

/// Slurm groups a path with blanks; nothing expands `~` and variables.
bool take_folder(Fields& fields, const Directive& directive) {
    const std::string& path = directive.value;
    const bool is_grouped = fields.is_slurm() && !path.empty() && path.front() != '-' &&
                            path.find_first_of("\"\\$`~") == std::string::npos &&
                            !templates::has_control_characters(path);
    return is_grouped ? fields.put("workdir", yaml::double_quoted(path))
                      : take_plain(fields, directive, "workdir");
}

/// `-w` of TORQUE: the set-up of the Job sets what it sets (convert_batch.cpp).
bool take_submit_folder(Fields& fields, const Directive& directive) {
    return is_plain_text(fields, directive.value) && directive.value.starts_with('/');
}

/// The parts of `2:ncpus=8:mem=4gb` by their names, `nodes` for the first; empty: one is twice
/// there.
std::map<std::string, std::string> place_parts(std::string_view text) {
    std::map<std::string, std::string> parts;
    bool is_first = true;
    while (!text.empty()) {
        const auto item = text.substr(0, text.find(':'));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const auto equals = item.find('=');
        const std::string name(is_first ? "nodes" : item.substr(0, equals));
        const auto value = is_first              ? item
                           : equals == item.npos ? std::string_view()
                                                 : item.substr(equals + 1);
        is_first = false;
        if (!parts.emplace(name, value).second) {
            return {};
        }
    }
    return parts;
}

/// OpenPBS's `select=2:ncpus=8:mpiprocs=2:mem=4gb:ngpus=1`; without `mpiprocs` a chunk has one.
bool take_chunks(Fields& fields, std::map<std::string, std::string> parts) {
    constexpr std::string_view kKnown = " nodes ncpus mpiprocs mem ngpus ";
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    for (const auto& [name, value] : parts) {
        if (kKnown.find(" " + name + " ") == std::string_view::npos) {
            return false;
        }
    }
    const auto nodes = count_of(parts["nodes"]);
    const auto cpus = count_of(parts["ncpus"]);
    const auto tasks = parts.contains("mpiprocs") ? count_of(parts["mpiprocs"]) : 1;
    const auto gpus = parts.contains("ngpus") ? count_of(parts["ngpus"]) : 0;
    const auto memory = parts.contains("mem") ? pbs_memory(parts["mem"]) : 0;
    if (!nodes || !cpus || !tasks || !gpus || !memory || *cpus % *tasks != 0 ||
        *memory % kMebibyte != 0 || *memory > (std::uint64_t{1} << 50U) ||
        (parts.contains("mem") && *memory == 0)) {
        return false;
    }
    fields.put("resources.nodes", std::to_string(*nodes));
    fields.put("resources.tasks-per-node", std::to_string(*tasks));
    fields.put("resources.cpus-per-task", std::to_string(*cpus / *tasks));
    if (*gpus != 0) {
        fields.put("resources.gpus-per-node", std::to_string(*gpus));
    }
    return *memory == 0 ||
           fields.put("resources.memory-per-node", fmt::format("{} MiB", *memory / kMebibyte));
}

/// TORQUE's `nodes=2:ppn=8` and OpenPBS's `select`, in the form in which they are rendered.
bool take_pbs_place(Fields& fields, const Directive& directive) {
    std::map<std::string, std::string> parts = place_parts(directive.value);
    if (directive.need != "-l nodes") {
        return take_chunks(fields, std::move(parts));
    }
    const auto nodes = count_of(parts["nodes"]);
    const auto slots = parts.contains("ppn") ? count_of(parts["ppn"]) : 1;
    const bool is_known = parts.size() == 1 || (parts.size() == 2 && parts.contains("ppn"));
    if (!is_known || !nodes || !slots || fields.script.reader != Reader::kTorque) {
        return false;
    }
    fields.put("resources.nodes", std::to_string(*nodes));
    return parts.size() == 1 || fields.put("resources.tasks-per-node", std::to_string(*slots));
}

template <const char* kField>
bool take_number_field(Fields& fields, const Directive& directive) {
    return take_field_count(fields, directive, kField);
}
template <const char* kField>
bool take_text_field(Fields& fields, const Directive& directive) {
    return take_plain(fields, directive, kField);
}
constexpr char kNodesField[] = "resources.nodes";
constexpr char kTasksField[] = "resources.tasks";
constexpr char kTasksPerNodeField[] = "resources.tasks-per-node";
constexpr char kCpusField[] = "resources.cpus-per-task";
constexpr char kQueueField[] = "queue";
constexpr char kAccountField[] = "account";
constexpr char kQosField[] = "qos";

/// More tasks than nodes hold are a contradiction that Slurm settles in a way of its own.
bool take_tasks(Fields& fields, const Directive& directive) {
    const Directive* const nodes = fields.script.find("nodes");
    const Directive* const each = fields.script.find("tasks-per-node");
    const auto tasks = count_of(directive.value);
    if (tasks && each != nullptr) {
        const auto most = count_of(each->value);
        const auto of = nodes == nullptr ? std::optional<std::uint64_t>() : count_of(nodes->value);
        const bool is_one = tasks == 1U && most == 1U && nodes == nullptr;
        if (!is_one && (!most || !of || *tasks > *most * *of)) {
            return false;
        }
    }
    return take_field_count(fields, directive, kTasksField);
}

struct FieldRow {
    std::string_view need;
    std::string_view option; ///< only this one; empty: all that say the need
    Take take;
};
constexpr std::array kFieldRows{
    FieldRow{"array", "", take_array}, // first: patterns depend on it
    FieldRow{"name", "", take_name},
    FieldRow{"nodes", "", take_number_field<kNodesField>},
    FieldRow{"tasks", "", take_tasks},
    FieldRow{"tasks-per-node", "", take_number_field<kTasksPerNodeField>},
    FieldRow{"cpus-per-task", "", take_number_field<kCpusField>},
    FieldRow{"memory-per-node", "", take_slurm_memory<false>},
    FieldRow{"memory-per-cpu", "", take_slurm_memory<true>},
    FieldRow{"gpus-per-node", "", take_gpu_count},
    FieldRow{"time", "", take_limit},
    FieldRow{"-l walltime", "", take_limit},
    FieldRow{"queue", "", take_text_field<kQueueField>},
    FieldRow{"account", "-A", take_text_field<kAccountField>},
    FieldRow{"account", "--account", take_text_field<kAccountField>},
    FieldRow{"qos", "--qos", take_text_field<kQosField>},
    FieldRow{"constraint", "", take_all_features},
    FieldRow{"signal", "", take_pre_signal},
    FieldRow{"stdout", "", by_reader<take_slurm_output, take_pbs_output>},
    FieldRow{"stderr", "", by_reader<take_slurm_output, take_pbs_output>},
    FieldRow{"join", "", take_pbs_output},
    FieldRow{"workdir", "", take_folder},
    FieldRow{"submit-folder", "", take_submit_folder},
    FieldRow{"exclusive", "", take_nothing_given},
    FieldRow{"-l nodes", "", take_pbs_place},
    FieldRow{"-l select", "", take_pbs_place},
    FieldRow{"-l place", "", take_exclusive_place},
};

/// The option as its batch system reads it back; empty: no quoting does that.
std::string word_of(const Fields& fields, const Directive& directive) {
    if (!directive.has_value) {
        return directive.option;
    }
    std::string value = directive.value;
    const bool is_odd = value.empty() || value.find_first_of(" \t#'\"\\") != std::string::npos;
    if (is_odd) {
        const char quote = value.find('"') == std::string::npos ? '"' : '\'';
        const bool is_hard = value.find(quote) != std::string::npos ||
                             (fields.is_slurm() && value.find('\\') != std::string::npos);
        if (is_hard) {
            return {};
        }
        value = quote + value + quote;
    }
    const bool has_equals = directive.option.starts_with("--") || directive.option.size() > 2;
    return directive.option + (has_equals ? "=" : " ") + value;
}

/// `-S` of PBS is the shell, which is a field of its own; one of several options counts.
bool is_settled_option(const Fields& fields, const Directive& directive) {
    const bool adds_up = directive.need == "variables" || directive.need == "export" ||
                         (directive.need == "mail-on" && fields.is_slurm());
    const bool is_repeated =
        !directive.need.empty() && !adds_up && fields.script.find(directive.need) != &directive;
    return directive.need == "shell" || is_repeated;
}

void take_option(Fields& fields, const Directive& directive) {
    BatchOptions& options = fields.options;
    const bool is_of_plugin = fields.is_slurm() && directive.option.starts_with("--") &&
                              nearest_option(fields.script.reader, directive.option).empty();
    if (directive.need.empty() && !is_of_plugin) {
        options.refused.push_back({directive.line,
                                   directive.option,
                                   fmt::format("{} has no such option, and refuses the script",
                                               reader_text(fields.script.reader)),
                                   spelling_help(fields.script.reader, directive.option)});
        return;
    }
    const auto reason = reason_against(fields.script.reader, directive.need);
    if (!reason.empty() && directive.need != "arguments") {
        options.refused.push_back({directive.line,
                                   directive.option,
                                   fmt::format("it has no place in a Job: {}", reason),
                                   "remove it from the script"});
        return;
    }
    if (is_settled_option(fields, directive)) {
        ++options.in_fields;
        return;
    }
    const auto* const row = std::ranges::find_if(kFieldRows, [&](const FieldRow& each) {
        return each.need == directive.need &&
               (each.option.empty() || each.option == directive.option);
    });
    const Take take = row != kFieldRows.end() ? row->take : find_option_take(directive);
    if (take != nullptr && take(fields, directive)) {
        ++options.in_fields;
        return;
    }
    const bool is_array = directive.need == "array"; // `directives` cannot have it
    if (is_array || (!fields.is_slurm() && directive.need == "workdir")) {
        options.refused.push_back(
            {directive.line,
             directive.option + " " + directive.value,
             is_array ? fmt::format("{} does not accept these indexes",
                                    reader_text(fields.script.reader))
                      : "the path has characters that `workdir` of a Job cannot have",
             fmt::format("write `{}` into the Job yourself", directive.need)});
        return;
    }
    std::string word = word_of(fields, directive);
    if (word.empty()) {
        options.refused.push_back({directive.line,
                                   directive.option,
                                   "its value has quotes or backslashes that cannot be converted",
                                   "write the option into `directives` yourself"});
        return;
    }
    options.words.push_back(std::move(word));
}

} // namespace

BatchOptions batch_options(const BatchScript& script) {
    Fields fields{script, {}, {}};
    for (const Directive& directive : script.directives) {
        fields.needs.insert(directive.need);
        if (directive.need == "gres" && ("," + directive.value).find(",gpu") != std::string::npos) {
            fields.needs.insert("gres of GPUs");
        }
    }
    for (const bool is_array : {true, false}) {
        for (const Directive& directive : script.directives) {
            if ((directive.need == "array") == is_array) {
                take_option(fields, directive);
            }
        }
    }
    return std::move(fields.options);
}

} // namespace cybele::schedulers
