// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/plan_parts.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

/// The variables of an index, ours and the schedulers'.
constexpr std::array<std::string_view, 4> kVariables{
    "CYBELE_ARRAY_INDEX", "SLURM_ARRAY_TASK_ID", "PBS_ARRAYID", "PBS_ARRAY_INDEX"};

constexpr std::array<std::string_view, 7> kShells{
    "sh", "bash", "dash", "ksh", "zsh", "ash", "busybox"};

bool holds_mark(std::string_view text) {
    return text.find(kIndexMark) != std::string_view::npos;
}

constexpr std::string_view kSweepVariable = "CYBELE_SWEEP_";

/// The first `$NAME` or `${NAME` of an index or of a value of a sweep; empty: none.
std::string_view variable_in(std::string_view text) {
    for (std::size_t at = text.find('$'); at != text.npos; at = text.find('$', at + 1)) {
        std::string_view name = text.substr(at + 1);
        name.remove_prefix(name.starts_with('{') ? 1 : 0);
        const auto* const end = std::find_if_not(name.begin(), name.end(), is_word_character);
        name = name.substr(0, static_cast<std::size_t>(end - name.begin()));
        if (name.starts_with(kSweepVariable) || contains(kVariables, name)) {
            return name;
        }
    }
    return {};
}

/// The mark that stands for the variable in a word: `@{index}`, or of the sweep's `lr` `@{lr}`.
std::string mark_of_variable(const Job& job, std::string_view variable) {
    if (job.sweep) {
        for (const std::string& name : job.sweep->names) {
            if (variable_of_sweep(name) == variable) {
                return fmt::format("@{{{}}}", name);
            }
        }
    }
    return variable.starts_with(kSweepVariable)
               ? fmt::format("@{{{}}}", variable.substr(kSweepVariable.size()))
               : std::string(kIndexMark);
}

/// Whether the word is a program for a shell that stands before it: `sh -c WORD`.
bool is_for_shell(const std::vector<std::string>& words, std::size_t index) {
    if (index < 2) {
        return false;
    }
    const std::string& option = words[index - 1];
    const std::string_view before = words[index - 2];
    const std::string_view program = before.substr(before.rfind('/') + 1);
    return option.size() > 1 && option[0] == '-' && option[1] != '-' && option.back() == 'c' &&
           contains(kShells, program);
}

/// `@{NAME}` of a sweep, misspelt: without a sweep it is text.
void check_sweep_names(const Job& job,
                       const std::string& field,
                       std::string_view word,
                       Faults& faults) {
    for (auto at = word.find("@{"); job.sweep && at != word.npos; at = word.find("@{", at + 1)) {
        const std::string name(word.substr(at + 2, word.find('}', at) - at - 2));
        const auto& names = job.sweep->names;
        if (name == "index" || contains(names, name)) {
            continue;
        }
        const std::string near =
            nearest(name, std::vector<std::string_view>(names.begin(), names.end()));
        faults.add(
            job.fault_at(field,
                         problem("sweep-name-unknown",
                                 fmt::format("the sweep has no parameter '{}'", printable(name))),
                         fmt::format("it has {}", fmt::join(names, ", ")),
                         fmt::format("write `@{{{}}}`", near.empty() ? names.front() : near)));
    }
}

/// A word of `command`, or a value of `environment`.
void check_word(const Job& job, const std::string& field, std::string_view word, Faults& faults) {
    if (const std::string_view name = variable_in(word); !name.empty()) {
        const bool is_braced = word.find(fmt::format("${{{}}}", name)) != std::string_view::npos;
        const std::string written =
            is_braced ? fmt::format("${{{}}}", name) : fmt::format("${}", name);
        const bool is_alone = word == written; // a plain word cannot begin with `@`
        const std::string mark = mark_of_variable(job, name);
        const bool is_index = mark == kIndexMark;
        const bool is_given = is_index ? job.has_index() : job.sweep.has_value();
        faults.add(job.fault_at(
            field,
            problem("variable-not-replaced", fmt::format("`${}` is not replaced here", name)),
            "no shell reads `command` and `environment`: each element would get the same text",
            fmt::format("write `{}`{}",
                        is_alone ? "'" + mark + "'" : mark + "` in place of `" + written,
                        is_given   ? ""
                        : is_index ? ", and `array: 0-9`"
                                   : ", and its values under `sweep`")));
    }
    check_sweep_names(job, field, word, faults);
    if (!job.has_index() && holds_mark(word)) {
        faults.add(
            job.fault_at(field,
                         problem("index-without-array",
                                 "`@{index}` stands for the index of an array's element, and the "
                                 "job is not an array"),
                         "without `array` a job has no index",
                         "add `array: 0-9`, or use `--array 0-9`"));
    }
}

/// The first `@{index}`, or `@{NAME}` of the sweep, in a text; empty: none.
std::string mark_in(const Job& job, std::string_view text) {
    if (holds_mark(text)) {
        return "@{index}";
    }
    const auto names = job.sweep ? job.sweep->names : std::vector<std::string>{};
    for (const std::string& name : names) {
        std::string mark = fmt::format("@{{{}}}", name);
        if (text.find(mark) != std::string_view::npos) {
            return mark;
        }
    }
    return {};
}

/// Fields that all elements of the job share.
void check_shared_fields(const Job& job, Faults& faults) {
    const std::pair<const char*, const std::string*> fields[] = {
        {"job-name", &job.name},
        {"queue", &job.queue},
        {"account", &job.account},
        {"qos", &job.qos},
        {"reservation", &job.reservation},
        {"comment", &job.comment},
    };
    for (const auto& [field, text] : fields) {
        if (const std::string mark = mark_in(job, *text); !mark.empty()) {
            faults.add(job.fault_at(
                field,
                problem("index-not-replaced", fmt::format("`{}` is not replaced here", mark)),
                "all elements of the job have the same one",
                "write the text without it"));
        }
    }
}

/// Fields where `@{index}`, or `@{NAME}` of the sweep, would stay as it is, and what to write.
void check_other_fields(const Job& job, Faults& faults) {
    constexpr const char* kPlain = "write the text without it";
    const auto refuse = [&](const std::string& field, std::string_view text, const char* help) {
        const std::string mark = mark_in(job, text);
        if (!mark.empty()) {
            faults.add(job.fault_at(
                field,
                problem("index-not-replaced", fmt::format("`{}` is not replaced here", mark)),
                "it is replaced in words of `command` and `arguments`, in values of "
                "`environment`, and in texts with `expand`",
                help));
        }
    };
    refuse("output.stdout", job.output.standard_output, "write `%a` in its place");
    refuse("output.stderr", job.output.standard_error, "write `%a` in its place");
    refuse("output.to", job.output.to, kPlain);
    refuse("workdir", job.workdir, kPlain);
    for (std::size_t index = 0; index < job.output.results.size(); ++index) {
        const std::string& pattern = job.output.results[index];
        const bool is_split = !job.array.empty() && !(job.sweep && job.sweep->pack > 0);
        if (!is_split || mark_in(job, pattern) != "@{index}") { // each element has its own
            refuse(fmt::format("output.results[{}]", index), pattern, "write `*` in its place");
        }
    }
    for (std::size_t index = 0; index < job.binds.size(); ++index) {
        refuse(fmt::format("binds[{}]", index), job.binds[index], kPlain);
    }
    for (std::size_t index = 0; index < job.launch.options.size(); ++index) {
        refuse(fmt::format("launch.options[{}]", index), job.launch.options[index], kPlain);
    }
    if (!job.array.empty() && holds_mark(job.script)) {
        Fault note =
            job.fault_at("script",
                         problem("index-in-script", "`@{index}` is not replaced in `script`"),
                         "its shell reads the index from a variable",
                         "write `$CYBELE_ARRAY_INDEX` in its place");
        note.is_warning = true;
        faults.add(std::move(note));
    }
}

/// An element of a packed sweep is not a row of it.
void check_chosen_elements(const Job& job, Faults& faults) {
    if (job.sweep && job.sweep->pack > 0 && job.replaced.contains("array")) {
        faults.add(job.fault_at(
            "sweep.pack",
            problem("array-of-packed-sweep", "--array does not choose rows of a packed sweep"),
            "each of its elements runs several rows",
            "write fewer values under `sweep`, or remove `pack`"));
    }
}

} // namespace

void check_index(const Job& job, Faults& faults) {
    for (std::size_t index = 0; index < job.command.size(); ++index) {
        if (!is_for_shell(job.command, index) ||
            (!job.has_index() && holds_mark(job.command[index]))) {
            check_word(job, fmt::format("command[{}]", index), job.command[index], faults);
        }
    }
    for (std::size_t index = 0; index < job.arguments.size(); ++index) {
        if (!job.array.empty()) {
            check_sweep_names(
                job, fmt::format("arguments[{}]", index), job.arguments[index], faults);
        }
        if (job.array.empty() || !variable_in(job.arguments[index]).empty()) {
            check_word(job, fmt::format("arguments[{}]", index), job.arguments[index], faults);
        }
    }
    for (const auto& [name, value] : job.environment) {
        const bool expands = job.expanded.contains("environment." + name);
        if (!expands || (!job.has_index() && holds_mark(value))) {
            check_word(job, "environment." + name, value, faults);
        }
    }
    check_shared_fields(job, faults);
    check_other_fields(job, faults);
    check_sweep(job, faults);
    check_words(job, faults);
    check_chosen_elements(job, faults);
}

} // namespace cybele::launchers
