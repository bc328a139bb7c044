// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/lint.hpp"

#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/rules.hpp"
#include "definitions/lint/context.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace cybele::definitions {
namespace {

constexpr std::string_view kIgnore = "cybelectl: ignore";
constexpr std::string_view kWholeFile = "-file";

/// Which rules a file passes over, by line; line 0 is the whole file.
using Ignored = std::map<std::size_t, std::set<std::string, std::less<>>>;

std::set<std::string, std::less<>> rule_words(std::string_view text) {
    std::set<std::string, std::less<>> rules;
    std::string word;
    for (const char c : std::string(text) + " ") {
        if (c != ' ' && c != ',' && c != '\t' && c != '\r') {
            word += c;
        } else if (!word.empty()) {
            if (const Rule* rule = find_rule(word)) {
                rules.emplace(rule->id);
            }
            word.clear();
        }
    }
    return rules;
}

Ignored ignored_rules(const std::vector<std::string_view>& lines) {
    Ignored ignored;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::size_t at = lines[i].find(kIgnore);
        const std::size_t hash = lines[i].substr(0, at).rfind('#');
        if (at == std::string_view::npos || hash == std::string_view::npos) {
            continue;
        }
        std::string_view rest = lines[i].substr(at + kIgnore.size());
        std::size_t target = i + 1;
        if (rest.starts_with(kWholeFile)) {
            rest.remove_prefix(kWholeFile.size());
            target = 0;
        } else if (trim(lines[i].substr(0, hash)).empty()) {
            // Alone on its line: the next line that is no comment.
            do {
                ++target;
            } while (target <= lines.size() && trim(lines[target - 1]).starts_with('#'));
        }
        ignored[target].merge(rule_words(rest));
    }
    return ignored;
}

bool is_ignored(const Finding& finding, const Ignored& ignored) {
    for (const std::size_t line :
         {std::size_t{0}, finding.fault.where ? finding.fault.where->line : 0}) {
        const auto found = ignored.find(line);
        if (found != ignored.end() && found->second.contains(finding.rule)) {
            return true;
        }
    }
    return false;
}

auto order(const Finding& finding) {
    const auto& where = finding.fault.where;
    return std::tuple(where ? where->line : 0, where ? where->column : 0, finding.rule);
}

} // namespace

namespace {

/// A note that holds at several lines is said at the first one, with the number of the others.
void say_notes_once(std::vector<Finding>& findings) {
    std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
        return order(a) < order(b);
    });
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
    fault.is_warning = row->severity != Severity::kError;
    fault.message = std::move(message);
    fault.because = because.empty() ? std::string(row->why) : std::move(because);
    fault.help = help.empty() ? std::string(row->fix) : std::move(help);
    findings_.add(row->id, std::move(fault));
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
        if (std::find(names.begin(), names.end(), section.name) != names.end()) {
            scripts.push_back({&stage, &section, script_commands(section.text)});
        }
    }
    return scripts;
}

std::size_t LintReport::count(bool warnings) const {
    return static_cast<std::size_t>(
        std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
            const Rule* rule = find_rule(finding.rule);
            return (rule->severity == Severity::kWarning) == warnings &&
                   rule->severity != Severity::kNote;
        }));
}

bool LintReport::is_clean() const {
    return count(false) == 0 && count(true) == 0;
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
    for (const auto linter : kLinters) {
        linter(lint);
    }
    LintReport report;
    const Ignored ignored = ignored_rules(lint.lines());
    for (Finding& finding : lint.findings().all()) {
        if (!is_ignored(finding, ignored)) {
            report.findings.push_back(std::move(finding));
        }
    }
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
    std::stable_sort(report.findings.begin(),
                     report.findings.end(),
                     [](const Finding& a, const Finding& b) { return order(a) < order(b); });
    return report;
}

} // namespace cybele::definitions
