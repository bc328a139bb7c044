// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/batch_fields_parts.hpp"
#include "support/size.hpp"
#include "support/text.hpp"
#include "support/yaml_print.hpp"
#include "templates/renderer.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// The parts of a text between commas; those in brackets separate nothing.
std::vector<std::string> items_of(std::string_view text) {
    std::vector<std::string> items{{}};
    bool is_inside = false;
    for (const char letter : text) {
        is_inside = letter == '[' || (is_inside && letter != ']');
        if (letter == ',' && !is_inside) {
            items.emplace_back();
        } else {
            items.back() += letter;
        }
    }
    return items;
}

/// GPUs as `2` or `a100:2`; empty: of another form.
std::string gpu_value(const Fields& fields, const std::string& text, std::string_view form) {
    const auto colon = text.rfind(':');
    std::string count = colon == std::string::npos ? text : text.substr(colon + 1);
    const std::string type = colon == std::string::npos ? "" : text.substr(0, colon);
    const bool is_typed = colon != std::string::npos;
    const bool is_type = !is_typed || (!type.empty() && is_plain_text(fields, type) &&
                                       type.find_first_of(":,") == std::string::npos);
    if (!count_of(count) || !is_type) {
        return {};
    }
    if (!is_typed && form.empty()) {
        return count;
    }
    return fmt::format("{{count: {}{}{}}}",
                       count,
                       is_typed ? ", type: " + yaml::double_quoted(type) : "",
                       form.empty() ? "" : fmt::format(", form: {}", form));
}

constexpr char kGpusPerTaskField[] = "resources.gpus-per-task";

template <const char* kField>
bool take_gpus_of(Fields& fields, const Directive& directive) {
    const std::string value = gpu_value(fields, directive.value, "");
    const Directive* const tasks = fields.script.find("tasks");
    if (kField == kGpusPerTaskField && tasks != nullptr && tasks->value != "1" &&
        !fields.has("nodes")) {
        return false; // Slurm chooses the nodes, and a Job has as many GPUs on each
    }
    return gpu_forms(fields) == 1 && !value.empty() && fields.put(kField, value);
}

/// `{a: 2, b: 1}` of `a:2,b`; empty: of another form.
std::string counts_of_items(const std::vector<std::string>& items,
                            document::ValueFault (*check)(std::string_view)) {
    std::string map;
    std::set<std::string> names;
    for (const std::string& item : items) {
        const auto colon = item.rfind(':');
        const std::string name = item.substr(0, colon);
        const auto count = colon == std::string::npos ? std::optional<std::uint64_t>(1)
                                                      : count_of(item.substr(colon + 1));
        if (!count || !check(name).because.empty() || !names.insert(name).second) {
            return {};
        }
        map += fmt::format("{}{}: {}", map.empty() ? "" : ", ", yaml::double_quoted(name), *count);
    }
    return map.empty() ? map : "{" + map + "}";
}

/// GPUs among the resources are a field of their own.
bool take_gres(Fields& fields, const Directive& directive) {
    std::vector<std::string> items = items_of(directive.value);
    const auto is_gpu = [](const std::string& item) {
        return item == "gpu" || item.starts_with("gpu:");
    };
    const auto count = std::ranges::count_if(items, is_gpu);
    const auto gpu = std::ranges::find_if(items, is_gpu);
    std::string gpus;
    if (gpu != items.end()) {
        constexpr std::size_t kPrefix = std::string_view("gpu:").size();
        gpus = gpu_value(fields, *gpu == "gpu" ? "1" : gpu->substr(kPrefix), "gres");
        items.erase(gpu);
        if (count != 1 || gpu_forms(fields) != 1 || gpus.empty()) {
            return false;
        }
    }
    const std::string others = counts_of_items(items, launchers::check_gres);
    const bool is_word = directive.value == "none" || directive.value == "help";
    if ((!items.empty() && others.empty()) || is_word || (count == 0 && others.empty())) {
        return false;
    }
    if (!gpus.empty()) {
        fields.put("resources.gpus-per-node", gpus);
    }
    return others.empty() || fields.put("resources.gres", others);
}

bool take_licenses(Fields& fields, const Directive& directive) {
    const std::string map = counts_of_items(items_of(directive.value), launchers::check_license);
    return !map.empty() && fields.put("resources.licenses", map);
}

template <const char* kField>
bool take_hosts(Fields& fields, const Directive& directive) {
    std::string list;
    for (const std::string& host : items_of(directive.value)) {
        if (!launchers::check_host(host).because.empty()) {
            return false;
        }
        list += (list.empty() ? "" : ", ") + yaml::double_quoted(host);
    }
    return fields.put(kField, "[" + list + "]");
}

template <const char* kField>
bool take_count_of(Fields& fields, const Directive& directive) {
    const auto count = count_of(directive.value);
    return count && fields.put(kField, std::to_string(*count));
}

bool take_cores_of_gpu(Fields& fields, const Directive& directive) {
    constexpr static char kField[] = "resources.cpus-per-gpu";
    return !fields.has("cpus-per-task") && take_count_of<kField>(fields, directive);
}

bool take_memory_of_gpu(Fields& fields, const Directive& directive) {
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    const auto bytes = slurm_memory(directive.value);
    const bool is_alone = !fields.has("memory-per-node") && !fields.has("memory-per-cpu");
    return bytes && *bytes > 0 && *bytes % kMebibyte == 0 && *bytes <= (std::uint64_t{1} << 50U) &&
           is_alone && fields.put("resources.memory-per-gpu", format_size(*bytes));
}

bool take_reservation(Fields& fields, const Directive& directive) {
    return take_plain(fields, directive, "reservation");
}

/// sbatch knows many forms of a time, and a Job the full one; qsub's is without separators.
bool take_begin(Fields& fields, const Directive& directive) {
    std::string text = directive.value;
    constexpr std::size_t kMinuteDigits = 12;
    if (!fields.is_slurm()) {
        const bool is_full = text.size() == kMinuteDigits || text.size() == kMinuteDigits + 3;
        if (!is_full || (text.size() > kMinuteDigits && text[kMinuteDigits] != '.')) {
            return false;
        }
        text = fmt::format("{}-{}-{}T{}:{}:{}",
                           text.substr(0, 4),
                           text.substr(4, 2),
                           text.substr(6, 2),
                           text.substr(8, 2),
                           text.substr(10, 2),
                           text.size() > kMinuteDigits ? text.substr(kMinuteDigits + 1) : "00");
    }
    return launchers::check_begin(text).because.empty() && fields.put("begin", text);
}

bool take_comment(Fields& fields, const Directive& directive) {
    const std::string& text = directive.value;
    const bool is_carried = !text.empty() && text.front() != '-' &&
                            text.find_first_of("\"\\$`") == std::string::npos &&
                            !templates::has_control_characters(text);
    return is_carried && fields.put("comment", yaml::double_quoted(text));
}

bool take_requeue(Fields& fields, const Directive& directive) {
    const bool is_clear = !(fields.has("requeue") && fields.has("no-requeue"));
    return is_clear && fields.put("requeue", directive.need == "requeue" ? "true" : "false");
}

bool take_pbs_rerun(Fields& fields, const Directive& directive) {
    const bool is_known = directive.value == "y" || directive.value == "n";
    return is_known && fields.put("requeue", directive.value == "y" ? "true" : "false");
}

bool take_open_mode(Fields& fields, const Directive& directive) {
    const bool appends = directive.value == "append" || directive.value == "a";
    const bool is_known = appends || directive.value == "truncate" || directive.value == "t";
    return is_known && fields.put("append-output", appends ? "true" : "false");
}

struct MailWordPair {
    std::string_view theirs;
    std::string_view ours;
};
constexpr std::array<MailWordPair, 7> kMailPairs{{{"begin", "begin"},
                                                  {"end", "end"},
                                                  {"fail", "fail"},
                                                  {"all", "all"},
                                                  {"b", "begin"},
                                                  {"e", "end"},
                                                  {"a", "fail"}}};

/// The words of `mail.on`; empty: some have none.
std::string mail_words(const Fields& fields, std::string text) {
    std::string list;
    std::set<std::string_view> ours;
    text = text::lowered(text);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end =
            fields.is_slurm() ? std::min(text.find(',', at), text.size()) : at + 1;
        const std::string_view word = std::string_view(text).substr(at, end - at);
        at = end + (fields.is_slurm() ? 1 : 0);
        const auto* const pair = std::ranges::find(kMailPairs, word, &MailWordPair::theirs);
        if (pair == kMailPairs.end() || (word.size() == 1) == fields.is_slurm()) {
            return {};
        }
        if (ours.insert(pair->ours).second) {
            list += fmt::format("{}{}", list.empty() ? "" : ", ", pair->ours);
        }
    }
    return list;
}

/// The occasions of all `--mail-type`, which sbatch adds up; qsub's last `-m` counts.
std::string mail_occasions(const Fields& fields) {
    std::string text;
    for (const Directive& directive : fields.script.directives) {
        if (directive.need == "mail-on") {
            if (text.empty() || !fields.is_slurm()) {
                text = directive.value;
            } else {
                text.append(",").append(directive.value);
            }
        }
    }
    return text;
}

/// Address and occasions are one field, so both or neither.
bool take_mail(Fields& fields, const Directive& /*directive*/) {
    const Directive* const to = fields.script.find("mail-to");
    const std::string on = mail_occasions(fields);
    if (to == nullptr || on.empty()) {
        return false;
    }
    const std::string words = mail_words(fields, on);
    if (words.empty() || !is_plain_text(fields, to->value)) {
        return false;
    }
    return fields.put("mail",
                      fmt::format("{{to: {}, on: [{}]}}", yaml::double_quoted(to->value), words));
}

constexpr char kGpusField[] = "resources.gpus";
constexpr char kHostsField[] = "resources.hosts";
constexpr char kExcludeField[] = "resources.exclude";
constexpr char kThreadsField[] = "resources.threads-per-core";

struct OptionTake {
    std::string_view need;
    Take take;
};
constexpr std::array kOptionTakes{
    OptionTake{"mail-to", take_mail},
    OptionTake{"mail-on", take_mail},
    OptionTake{"gpus", take_gpus_of<kGpusField>},
    OptionTake{"gpus-per-task", take_gpus_of<kGpusPerTaskField>},
    OptionTake{"gres", take_gres},
    OptionTake{"cpus-per-gpu", take_cores_of_gpu},
    OptionTake{"mem-per-gpu", take_memory_of_gpu},
    OptionTake{"hosts", take_hosts<kHostsField>},
    OptionTake{"hosts-not", take_hosts<kExcludeField>},
    OptionTake{"threads-per-core", take_count_of<kThreadsField>},
    OptionTake{"licenses", take_licenses},
    OptionTake{"reservation", take_reservation},
    OptionTake{"begin", take_begin},
    OptionTake{"comment", take_comment},
    OptionTake{"requeue", take_requeue},
    OptionTake{"no-requeue", take_requeue},
    OptionTake{"rerun", take_pbs_rerun},
    OptionTake{"open-mode", take_open_mode},
};

} // namespace

int gpu_forms(const Fields& fields) {
    return static_cast<int>(fields.has("gpus-per-node")) +
           static_cast<int>(fields.has("gres of GPUs")) + static_cast<int>(fields.has("gpus")) +
           static_cast<int>(fields.has("gpus-per-task"));
}

Take find_option_take(const Directive& directive) {
    const auto* const row = std::ranges::find(kOptionTakes, directive.need, &OptionTake::need);
    return row == kOptionTakes.end() ? nullptr : row->take;
}

} // namespace cybele::schedulers
