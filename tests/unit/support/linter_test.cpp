// SPDX-License-Identifier: Apache-2.0
#include "support/linter.hpp"

#include <doctest/doctest.h>

using namespace cybele;

namespace {

constexpr lint::Rule kTwoRules[] = {
    {"Q1", lint::Severity::kError, "one", "why one", "fix one", "1"},
    {"Q2", lint::Severity::kNote, "two", "why two", "fix two", "2"}};

const lint::Rule* find_one(std::string_view id) {
    return lint::find_in(kTwoRules, id);
}

/// A finding of each rule on each of the lines; which of them no comment disables.
std::string left(const std::vector<std::string_view>& lines) {
    lint::Findings findings;
    for (std::size_t line = lines.size(); line > 0; --line) {
        for (const lint::Rule& rule : {kTwoRules[1], kTwoRules[0]}) {
            Fault place;
            place.where = Place{"f", line, 1, {}};
            lint::report(findings, rule, place);
        }
    }
    lint::drop_ignored(findings.all(), lines, find_one);
    lint::order(findings.all());
    std::string text;
    for (const lint::Finding& finding : findings.all()) {
        text += std::to_string(finding.fault.where->line) + std::string(finding.rule) + " ";
    }
    return text;
}

} // namespace

TEST_CASE("a rule is found by its id in any case, and its texts stand where a finding gives none") {
    CHECK(find_one("q2") == &kTwoRules[1]);
    CHECK(find_one("Q") == nullptr);
    lint::Findings findings;
    Fault with_fix;
    with_fix.help = "own fix";
    lint::report(findings, kTwoRules[0], with_fix);
    Fault with_reason;
    with_reason.because = "own why";
    lint::report(findings, kTwoRules[1], with_reason);
    CHECK(findings.all()[0].fault.because == "why one");
    CHECK(findings.all()[0].fault.help == "own fix");
    CHECK_FALSE(findings.all()[0].fault.is_warning);
    CHECK(findings.all()[1].fault.because == "own why");
    CHECK(findings.all()[1].fault.help == "fix two");
    CHECK(findings.all()[1].fault.is_warning);
    CHECK(findings.all()[1].fault.id == "Q2");
    CHECK(lint::count(findings.all(), lint::Severity::kError, find_one) == 1);
    CHECK(lint::count(findings.all(), lint::Severity::kWarning, find_one) == 0);
    CHECK(lint::explain(kTwoRules[0]).starts_with("Q1 (error): one\nwhy: why one\n"));
}

TEST_CASE("comments disable rules on their line, on the next line that is none, or everywhere") {
    CHECK(left({"a", "b"}) == "1Q1 1Q2 2Q1 2Q2 ");
    CHECK(left({"a # cybelectl: ignore q1", "b"}) == "1Q2 2Q1 2Q2 ");
    CHECK(left({"a # cybelectl: ignore Q1,Q2\r", "b"}) == "2Q1 2Q2 ");
    CHECK(left({"a", "  # cybelectl: ignore Q1", "\t# more", "b"}) ==
          "1Q1 1Q2 2Q1 2Q2 3Q1 3Q2 4Q2 ");
    CHECK(left({"a", "b # cybelectl: ignore-file Q2"}) == "1Q1 2Q1 ");
    CHECK(left({"a cybelectl: ignore Q1"}) == "1Q1 1Q2 ");
    CHECK(left({"a # cybelectl: ignore Q9"}) == "1Q1 1Q2 ");
}
