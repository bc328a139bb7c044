// SPDX-License-Identifier: Apache-2.0
#include "support/linter.hpp"

#include "support/find.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace cybele::lint {
namespace {

constexpr std::string_view kIgnore = "cybelectl: ignore";
constexpr std::string_view kWholeFile = "-file";
constexpr std::string_view kBlanks = " \t\r";

/// Which rules are disabled, by line; line 0 is the whole file.
using Ignored = std::map<std::size_t, std::set<std::string, std::less<>>>;

bool is_comment(std::string_view line) {
    const std::size_t first = line.find_first_not_of(kBlanks);
    return first != std::string_view::npos && line[first] == '#';
}

std::set<std::string, std::less<>> rules_named(std::string_view words, FindRule find_rule) {
    std::set<std::string, std::less<>> rules;
    std::string word;
    for (const char c : std::string(words) + " ") {
        if (c != ',' && kBlanks.find(c) == std::string_view::npos) {
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

Ignored ignored_rules(std::span<const std::string_view> lines, FindRule find_rule) {
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
        } else if (lines[i].find_first_not_of(kBlanks) == hash) {
            // Alone on its line: the next line that is no comment.
            do {
                ++target;
            } while (target <= lines.size() && is_comment(lines[target - 1]));
        }
        ignored[target].merge(rules_named(rest, find_rule));
    }
    return ignored;
}

auto place_of(const Finding& finding) {
    const auto& where = finding.fault.where;
    return std::tuple(where ? where->line : 0, where ? where->column : 0, finding.rule);
}

} // namespace

const Rule* find_in(std::span<const Rule> rules, std::string_view id) {
    const std::string wanted = text::lowered(id);
    return find_row(rules,
                    [&wanted](const Rule& rule) { return text::lowered(rule.id) == wanted; });
}

std::string explain(const Rule& rule) {
    return fmt::format("{} ({}): {}\nwhy: {}\nfix: {}\n"
                       "to ignore it: '# cybelectl: ignore {}' on the line or on the one above\n",
                       rule.id,
                       to_string(rule.severity),
                       rule.title,
                       rule.why,
                       rule.fix,
                       rule.id);
}

void report(Findings& findings, const Rule& rule, Fault fault) {
    fault.is_warning = rule.severity != Severity::kError;
    if (fault.because.empty()) {
        fault.because = rule.why;
    }
    if (fault.help.empty()) {
        fault.help = rule.fix;
    }
    findings.add(rule.id, std::move(fault));
}

void drop_ignored(std::vector<Finding>& findings,
                  std::span<const std::string_view> lines,
                  FindRule find_rule) {
    const Ignored ignored = ignored_rules(lines, find_rule);
    std::erase_if(findings, [&ignored](const Finding& finding) {
        for (const std::size_t line :
             {std::size_t{0}, finding.fault.where ? finding.fault.where->line : 0}) {
            const auto found = ignored.find(line);
            if (found != ignored.end() && found->second.contains(finding.rule)) {
                return true;
            }
        }
        return false;
    });
}

void order(std::vector<Finding>& findings) {
    std::stable_sort(
        findings.begin(), findings.end(), [](const Finding& left, const Finding& right) {
            return place_of(left) < place_of(right);
        });
}

std::size_t count(const std::vector<Finding>& findings, Severity severity, FindRule find_rule) {
    return static_cast<std::size_t>(std::ranges::count_if(findings, [&](const Finding& finding) {
        return find_rule(finding.rule)->severity == severity;
    }));
}

} // namespace cybele::lint
