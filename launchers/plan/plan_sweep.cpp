// SPDX-License-Identifier: Apache-2.0
// What a Job does with the parameters of its sweep.
#include "launchers/documents/job_fields_rules.hpp"
#include "launchers/plan/plan_parts.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

constexpr std::string_view kVariablePrefix = "CYBELE_SWEEP_";

/// Texts of the Job where a parameter may stand, as `@{NAME}` or as a variable.
std::vector<std::string_view> texts_with_parameters(const Job& job) {
    std::vector<std::string_view> texts{job.script,
                                        job.workdir,
                                        job.expanded_workdir,
                                        job.output.expanded_output,
                                        job.output.expanded_error};
    for (const auto* list : {&job.command, &job.arguments, &job.binds, &job.output.results}) {
        texts.insert(texts.end(), list->begin(), list->end());
    }
    for (const auto& [name, value] : job.environment) {
        texts.emplace_back(value);
    }
    for (const Setup& setup : job.setup) {
        texts.emplace_back(setup.run);
    }
    for (const Teardown& teardown : job.teardown) {
        texts.emplace_back(teardown.run);
    }
    const auto add = [&texts](const NodeText& text) { texts.emplace_back(text.text); };
    std::for_each(job.folders.begin(), job.folders.end(), add);
    add(job.image_copy);
    add(job.input);
    if (job.image) {
        texts.emplace_back(job.image->expanded);
    }
    return texts;
}

bool is_read_parameter(const Job& job, const std::string& name) {
    const std::string mark = fmt::format("@{{{}}}", name);
    const auto texts = texts_with_parameters(job);
    return std::ranges::any_of(texts, [&](std::string_view text) {
        return text.find(mark) != text.npos || text.find(kVariablePrefix) != text.npos;
    });
}

/// Whether the parameter is a list of the document, whose values differ.
bool has_several_values(const Sweep& sweep, std::size_t column) {
    return std::ranges::any_of(sweep.rows, [&](const auto& row) {
        return row.at(column) != sweep.rows.front().at(column);
    });
}

void add_warning(Fault note, Faults& faults) {
    note.is_warning = true;
    faults.add(std::move(note));
}

/// `atonce: 2` is a parameter of the sweep, and was hardly meant as one; others change nothing.
void check_unused_parameters(const Job& job, const Sweep& sweep, Faults& faults) {
    constexpr std::array<std::string_view, 4> kSweepWords{"table", "exclude", "pack", "at-once"};
    for (std::size_t column = 0; column < sweep.names.size(); ++column) {
        const std::string& name = sweep.names[column];
        const std::string near = nearest(name, kSweepWords);
        const bool is_list = job.marks.contains("sweep." + name);
        if (is_read_parameter(job, name) ||
            (near.empty() && (!is_list || !has_several_values(sweep, column)))) {
            continue;
        }
        add_warning(
            job.fault_at(
                "sweep." + name,
                problem("sweep-parameter-unused",
                        fmt::format("'{}' is a parameter of the sweep, and nothing uses it", name)),
                near.empty() ? fmt::format("runs that differ in it alone are the same, unless the "
                                           "program reads ${}",
                                           variable_of_sweep(name))
                             : fmt::format("words that vary have `@{{{}}}`", name),
                near.empty() ? fmt::format("write `'@{{{}}}'` as a word of `command` or a value of "
                                           "`environment`, or remove it",
                                           name)
                             : fmt::format("did you mean `{}`?", near)),
            faults);
    }
}

/// The names of `@{NAME}` in a text.
std::set<std::string> marked_names(std::string_view text) {
    std::set<std::string> names;
    for (auto at = text.find("@{"); at != text.npos; at = text.find("@{", at + 2)) {
        const std::string_view name = text.substr(at + 2, text.find('}', at) - at - 2);
        if (check_variable(variable_of_sweep(name)).because.empty() && !name.empty() &&
            !is_digit(name[0])) { // git's `@{1}`
            names.emplace(name);
        }
    }
    names.erase("index");
    return names;
}

/// `@{NAME}` stays as it is in a script.
void check_marks_in_script(const Job& job, const Sweep& sweep, Faults& faults) {
    const auto& known = sweep.names;
    for (const std::string& name : marked_names(job.script)) {
        const bool is_known = contains(known, name);
        const std::string near =
            nearest(name, std::vector<std::string_view>(known.begin(), known.end()));
        const std::string meant = is_known || near.empty() ? name : near;
        add_warning(
            job.fault_at(
                "script",
                problem("sweep-name-in-script",
                        fmt::format("`@{{{}}}` is not replaced in `script`", name)),
                is_known ? "its shell reads the value from a variable"
                         : fmt::format("its shell reads values from variables, and the sweep has "
                                       "no parameter '{}'",
                                       name),
                is_known || !near.empty()
                    ? fmt::format("write `${}` in its place", variable_of_sweep(meant))
                    : fmt::format("add `{}` to `sweep`, and write `${}` in its place",
                                  name,
                                  variable_of_sweep(name))),
            faults);
    }
}

/// The variables of a sweep that a text names; of `CYBELE_SWEEP_$name` only the run knows which.
std::set<std::string> variables_in(std::string_view text) {
    std::set<std::string> names;
    for (auto at = text.find(kVariablePrefix); at != text.npos; at = text.find(kVariablePrefix)) {
        text.remove_prefix(at);
        const auto* const end = std::find_if_not(text.begin(), text.end(), is_word_character);
        const auto size = static_cast<std::size_t>(end - text.begin());
        if (size > kVariablePrefix.size() && text.substr(size).find_first_of("${") != 0) {
            names.emplace(text.substr(0, size));
        }
        text.remove_prefix(size);
    }
    return names;
}

/// A variable that no parameter sets is empty in the script: `$CYBELE_SWEEP_LR` of `lr`.
void check_variables_in_script(const Job& job, const Sweep& sweep, Faults& faults) {
    std::vector<std::string> known;
    std::transform(
        sweep.names.begin(), sweep.names.end(), std::back_inserter(known), variable_of_sweep);
    for (const std::string& name : variables_in(job.script)) {
        if (contains(known, name)) {
            continue;
        }
        const auto alike = std::ranges::find_if(known, [&](const std::string& variable) {
            return text::lowered(variable) == text::lowered(name);
        });
        const std::string near =
            alike != known.end()
                ? *alike
                : nearest(name, std::vector<std::string_view>(known.begin(), known.end()));
        add_warning(job.fault_at("script",
                                 problem("sweep-variable-unknown",
                                         fmt::format("the sweep sets no variable `{}`", name)),
                                 fmt::format("it sets {}", fmt::join(known, ", ")),
                                 fmt::format("write `${}`", near.empty() ? known.front() : near)),
                    faults);
    }
}

} // namespace

void check_sweep(const Job& job, Faults& faults) {
    if (!job.sweep || job.sweep->rows.empty()) {
        return;
    }
    const Sweep& sweep = *job.sweep;
    const std::size_t before = faults.all().size();
    check_marks_in_script(job, sweep, faults);
    check_variables_in_script(job, sweep, faults);
    const bool has_wrong_name =
        faults.all().size() != before || contains(faults.all(), "sweep-name-unknown", &Fault::id);
    if (!has_wrong_name) { // what is written in its place is corrected first
        check_unused_parameters(job, sweep, faults);
    }
}

} // namespace cybele::launchers
