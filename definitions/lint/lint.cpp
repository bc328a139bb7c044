// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/lint.hpp"

#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/rules.hpp"
#include "definitions/lint/context.hpp"
#include "support/find.hpp"
#include "support/linter.hpp"
#include "support/other_file.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace cybele::definitions {
namespace {

/// A note that holds at several lines is said at the first one, with the number of the others.
void say_notes_once(std::vector<Finding>& findings) {
    lint::order(findings);
    std::map<std::string_view, std::size_t> first;
    std::map<std::string_view, std::size_t> counts;
    std::vector<Finding> kept;
    for (Finding& finding : findings) {
        const bool is_note = find_rule(finding.rule)->severity == Severity::kNote;
        if (is_note && counts[finding.rule]++ > 0) {
            continue;
        }
        first.emplace(finding.rule, kept.size());
        kept.push_back(std::move(finding));
    }
    for (const auto& [rule, count] : counts) {
        if (count > 1) {
            kept[first[rule]].fault.message +=
                " (and " + std::to_string(count - 1) + " more in this file)";
        }
    }
    findings = std::move(kept);
}

} // namespace

Lint::Lint(std::string_view text,
           std::string_view file,
           const LintOptions& options,
           const ParseOutcome& outcome)
    : text_(text), file_(file), options_(options), outcome_(outcome) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines_.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
}

std::string_view Lint::line(std::size_t number) const {
    return number >= 1 && number <= lines_.size() ? lines_[number - 1] : std::string_view();
}

void Lint::tell(std::string_view rule,
                const Spot& spot,
                std::string message,
                std::string because,
                std::string help) {
    const Rule* row = find_rule(rule);
    Fault fault = fault_at(file_, spot.line, line(spot.line));
    if (spot.column > 0 && fault.where) {
        fault.where->column = std::min(spot.column, line(spot.line).size() + 1);
    }
    fault.message = std::move(message);
    fault.because = std::move(because);
    fault.help = std::move(help);
    lint::report(findings_, *row, std::move(fault));
}

void Lint::tell(std::string_view rule,
                const Section& section,
                const ScriptWord& word,
                std::string message,
                std::string help) {
    tell(
        rule, {section.line + 1 + word.line, word.column}, std::move(message), {}, std::move(help));
}

std::vector<Script> scripts_of(const Stage& stage, std::initializer_list<std::string_view> names) {
    std::vector<Script> scripts;
    for (const Section& section : stage.sections) {
        if (contains(names, section.name)) {
            scripts.push_back({&stage, &section, script_commands(section.text)});
        }
    }
    return scripts;
}

std::size_t LintReport::errors() const {
    return lint::count(findings, Severity::kError, find_rule);
}

std::size_t LintReport::warnings() const {
    return lint::count(findings, Severity::kWarning, find_rule);
}

bool LintReport::is_clean() const {
    return errors() == 0 && warnings() == 0;
}

LintReport
lint_definition(std::string_view text, std::string_view file, const LintOptions& options) {
    ParseOutcome outcome = read_definition(text, file, options.parse);
    Lint lint(text, file, options, outcome);
    constexpr std::array kLinters = {lint_text,
                                     lint_structure,
                                     lint_scripts,
                                     lint_shellcheck,
                                     lint_environment,
                                     lint_supply,
                                     lint_files,
                                     lint_places};
    // Another kind of file has no part that a rule is about; one error says what it is.
    const auto other = recognize_file(text, file);
    const bool is_other = other && other->command != "def check" && outcome.refusals.size() == 1;
    for (const auto linter : kLinters) {
        if (!is_other) {
            linter(lint);
        }
    }
    LintReport report;
    report.stopped_by = lint.stopped_by();
    report.findings = std::move(lint.findings().all());
    lint::drop_ignored(report.findings, lint.lines(), find_rule);
    say_notes_once(report.findings);
    for (Finding& unused : unused_arguments(options.parse.arguments, outcome, text, file)) {
        outcome.refusals.push_back(std::move(unused));
    }
    report.is_accepted = outcome.refusals.empty();
    for (Finding& refusal : outcome.refusals) {
        refusal.is_refusal = true;
    }
    std::move(
        outcome.refusals.begin(), outcome.refusals.end(), std::back_inserter(report.findings));
    lint::order(report.findings);
    return report;
}

} // namespace cybele::definitions
