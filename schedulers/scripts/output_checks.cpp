// SPDX-License-Identifier: Apache-2.0
#include "schedulers/scripts/output_checks.hpp"

#include "schedulers/dialects/needs.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::Job;

/// As a value of yaml, where `%` cannot come first.
std::string in_yaml(const std::string& pattern) {
    return pattern.starts_with('%') ? "'" + printable(pattern) + "'" : printable(pattern);
}

/// The key that every dialect can write for `%KEY`: Slurm's `%A` and `%J` are ids as `%j` is.
std::string writable_key(char key) {
    constexpr std::string_view kOwn = "xja%";
    constexpr std::string_view kIds = "AJ";
    return kOwn.find(key) != std::string_view::npos   ? std::string("%") + key
           : kIds.find(key) != std::string_view::npos ? "%j"
           : key == 'X'                               ? "%x"
                                                      : "";
}

/// Writes the id for an index that no array has; next to the id it goes, with what divides them.
void put_id_for_index(std::string& text) {
    const bool has_id = text.find("%j") != std::string::npos;
    for (auto at = text.find("%a"); at != std::string::npos; at = text.find("%a", at)) {
        const bool is_divided =
            at > 0 && std::string_view("_-.").find(text[at - 1]) != std::string_view::npos;
        if (has_id) {
            text.erase(at - (is_divided ? 1U : 0U), is_divided ? 3U : 2U);
        } else {
            text.replace(at, 2, "%j");
        }
    }
}

/// The pattern with what every dialect can write: a lone `%` twice, no `%a` without an array, no
/// `~` in front.
std::string writable_pattern(std::string_view pattern, bool is_array) {
    std::string text;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        if (pattern[at] != '%') {
            text += pattern[at];
            continue;
        }
        const std::string key =
            at + 1 < pattern.size() ? writable_key(pattern[at + 1]) : std::string();
        at += key.empty() ? 0U : 1U;
        text += key.empty() ? "%%" : key;
    }
    if (!is_array) {
        put_id_for_index(text);
    }
    return text.starts_with("~/") ? text.substr(2) : text;
}

/// Where a directive of sbatch carries the pattern, which then may have all that Slurm replaces.
bool has_patterns_of_slurm(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    return rendering.dialect.name == "slurm" && !(job.sweep && job.sweep->pack > 0);
}

/// The letters behind each `%` of a pattern, `%` for `%%`; of `%5j`, `j` where there are widths.
std::string keys_of(std::string_view pattern, bool has_widths) {
    std::string keys;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        if (pattern[at] != '%') {
            continue;
        }
        ++at;
        while (has_widths && at < pattern.size() && is_digit(pattern[at])) {
            ++at;
        }
        keys += at < pattern.size() ? pattern[at] : ' ';
    }
    return keys;
}

bool holds_any(std::string_view keys, std::string_view some) {
    return keys.find_first_of(some) != std::string_view::npos;
}

/// What is wrong with the keys of a pattern; empty: nothing.
std::string wrong_key_in(const Rendering& rendering, const std::string& pattern) {
    const Job& job = *rendering.input.job;
    const bool is_of_slurm = has_patterns_of_slurm(rendering);
    const std::string keys = keys_of(pattern, is_of_slurm);
    constexpr std::string_view kOfAll = "xja%";
    constexpr std::string_view kOfSlurm = "xja%AJNnstu";
    const std::size_t odd = keys.find_first_not_of(is_of_slurm ? kOfSlurm : kOfAll);
    if (odd == std::string::npos) {
        return keys.find('a') != std::string::npos && job.array.empty()
                   ? "`%a` stands for an index, and the job is not an array"
                   : "";
    }
    if (keys[odd] == ' ') {
        return fmt::format("'{}' ends within a pattern", printable(pattern));
    }
    const std::string key = printable(std::string(1, keys[odd]));
    return kOfSlurm.find(keys[odd]) != std::string_view::npos
               ? fmt::format("'{}' has `%{}`, which only Slurm replaces", printable(pattern), key)
               : fmt::format("'{}' has the unknown pattern `%{}`", printable(pattern), key);
}

/// `logs/`, where no file can be opened.
void check_is_file(const Rendering& rendering, std::string_view field, const std::string& pattern) {
    const std::string_view name = std::string_view(pattern).substr(pattern.rfind('/') + 1);
    if (pattern.empty() || (!name.empty() && name != "." && name != "..")) {
        return;
    }
    const std::string_view suffix = field.ends_with("stderr") ? "err" : "out";
    rendering.faults.add(rendering.input.job->fault_at(
        field,
        problem("output-is-folder", fmt::format("'{}' is a folder", printable(pattern))),
        "an output is written into a file",
        fmt::format(
            "write `{}`",
            in_yaml(fmt::format("{}{}%x-%j.{}", pattern, name.empty() ? "" : "/", suffix)))));
}

/// The patterns that the dialect can write; `%a` needs an array.
void check_pattern(const Rendering& rendering, std::string_view field, const std::string& pattern) {
    check_is_file(rendering, field, pattern);
    const Job& job = *rendering.input.job;
    const bool is_directive = rendering.dialect.needs.at("stdout").service == Service::kDirective;
    std::string message = wrong_key_in(rendering, pattern);
    if (is_directive && pattern.starts_with('~')) {
        rendering.faults.add(
            job.fault_at(field,
                         problem("directive-tilde", "`~` cannot be carried by a directive"),
                         "no shell reads directives",
                         "write the absolute path"));
        return;
    }
    if (!message.empty()) {
        rendering.faults.add(job.fault_at(
            field,
            problem("output-pattern", message),
            "`%x` stands for the name, `%j` for the id and `%a` for the index of an array",
            fmt::format("write `{}`", in_yaml(writable_pattern(pattern, !job.array.empty())))));
    }
}

/// `logs/o-%a.log` of `logs/o.log`
std::string with_key(const std::string& pattern, std::string_view key) {
    const std::size_t name = pattern.rfind('/') + 1; // 0 where there is none
    const std::size_t dot = pattern.rfind('.');
    const bool has_suffix = dot != std::string::npos && dot > name;
    return std::string(pattern).insert(has_suffix ? dot : pattern.size(), fmt::format("-{}", key));
}

/// Warns of one file for all elements of an array, or for a job and those that continue it.
void note_shared(const Rendering& rendering, std::string_view field, const std::string& pattern) {
    const Job& job = *rendering.input.job;
    if (!job.says(field) || job.append_output.value_or(false) || pattern.starts_with("/dev/")) {
        return;
    }
    const std::string keys = keys_of(pattern, has_patterns_of_slurm(rendering));
    const bool is_shared = job.has_index() && !holds_any(keys, "ajJ");
    const bool is_replaced = job.continuation && !holds_any(keys, "ajJA");
    if (!is_shared && !is_replaced) {
        return;
    }
    const std::string file = printable(pattern);
    const Service append = rendering.dialect.needs.at("append-output").service;
    const bool can_append = append == Service::kDirective || append == Service::kScript;
    const bool has_elements = !job.array.empty(); // one job of a packed sweep has rows only
    const std::string named = in_yaml(with_key(pattern, is_shared && has_elements ? "%a" : "%j"));
    Fault note = job.fault_at(
        field,
        is_shared ? problem("output-shared",
                            fmt::format("all elements write their output into '{}'", file))
                  : problem("output-replaced",
                            fmt::format("each continuation replaces '{}' of the job before", file)),
        is_shared ? "each element replaces the file of another one, or they write into each other"
                  : "a job that continues another one opens its output like that one",
        is_shared
            ? fmt::format("write `{}`: {}",
                          named,
                          has_elements ? "`%a` is the index" : "each row adds its number to `%j`")
        : can_append ? fmt::format("add `append-output: true`, or write `{}`", named)
                     : fmt::format("write `{}`: `%j` is the id of each job", named));
    note.is_warning = true;
    rendering.faults.add(std::move(note));
}

} // namespace

void check_outputs(const Rendering& rendering) {
    const auto& output = rendering.input.job->output;
    check_pattern(rendering, "output.stdout", output.standard_output);
    check_pattern(rendering, "output.stderr", output.standard_error);
    note_shared(rendering, "output.stdout", output.standard_output);
    if (output.standard_error != output.standard_output) {
        note_shared(rendering, "output.stderr", output.standard_error);
    }
}

} // namespace cybele::schedulers
