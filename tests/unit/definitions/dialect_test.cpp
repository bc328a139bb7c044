// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/dialect.hpp"
#include "definitions/grammar/grammar.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::definitions;

namespace {

const std::string kDialectHead = "Bootstrap: localimage\nFrom: /b\n";

bool accepts(const char* dialect, const std::string& text) {
    const auto parsed = parse_dialect(dialect);
    REQUIRE(parsed);
    return read_definition(text, "x.def", {{}, *parsed}).refusals.empty();
}

/// The releases just before and at a version.
std::vector<std::pair<Dialect, bool>> around(Family family, const std::optional<Version>& since) {
    if (!since) {
        return {{{family, {99, 0, 0}}, false}};
    }
    Version before = *since;
    (before.patch > 0 ? before.patch : before.minor > 0 ? before.minor : before.major) -= 1;
    return {{{family, before}, false}, {{family, *since}, true}};
}

void check_since(const Since& since,
                 bool (*knows)(std::string_view, const Dialect&),
                 std::string_view word) {
    CAPTURE(word);
    for (const auto& rows : {around(Family::kApptainer, since.apptainer),
                             around(Family::kSingularity, since.singularity)}) {
        for (const auto& [dialect, expected] : rows) {
            CAPTURE(dialect.name());
            CHECK(knows(word, dialect) == expected);
        }
    }
}

} // namespace

TEST_CASE("every row of the tables of words turns at its release") {
    for (const HeaderKey& row : header_keys()) {
        check_since(row.since, is_header_key, row.key);
        CHECK(header_spelling(row.key) == row.spelling);
    }
    for (const SectionName& row : section_names()) {
        check_since(row.since, row.is_app ? is_app_section : is_section, row.name);
    }
    for (const Agent& row : agents()) {
        check_since(row.since, is_agent, row.name);
    }
    for (const FeatureRow& row : features()) {
        CAPTURE(row.word);
        CHECK(&feature_row(row.feature) == &row);
        for (const auto& rows : {around(Family::kApptainer, row.since.apptainer),
                                 around(Family::kSingularity, row.since.singularity)}) {
            for (const auto& [dialect, expected] : rows) {
                CHECK(has(dialect, row.feature) == expected);
            }
        }
        CHECK_FALSE(row.since.describe().empty());
    }
}

TEST_CASE("words for dialects") {
    const std::vector<std::pair<const char*, const char*>> words = {
        {"apptainer", "Apptainer 1.4.5"},
        {"apptainer>=1.2", "Apptainer 1.2"},
        {"apptainer 1.3.5", "Apptainer 1.3.5"},
        {"ce", "SingularityCE 4.5.1"},
        {"ce>=4.0", "SingularityCE 4.0"},
        {"singularity3", "Singularity 3.8.4"},
        {"singularity3.5", "Singularity 3.5"},
        {"singularity 3.7", "Singularity 3.7"},
        {"singularity>=3.5", "Singularity 3.5"},
        {"singularityce=4.1", "SingularityCE 4.1"}};
    for (const auto& [word, name] : words) {
        CAPTURE(word);
        const auto dialect = parse_dialect(word);
        REQUIRE(dialect);
        CHECK(dialect->name() == name);
    }
    for (const char* wrong : {"",
                              "docker",
                              "apptainer>=x",
                              "apptainer 0.9",
                              "singularity 3.1",
                              "ce 3.7",
                              "apptainer 1.2.3.4",
                              "apptainer -1",
                              "singularity3."}) {
        CAPTURE(wrong);
        const auto dialect = parse_dialect(wrong);
        REQUIRE_FALSE(dialect);
        CHECK(dialect.error().code() == ErrorCode::kUsage);
        CHECK_FALSE(dialect.error().faults().front().help.empty());
    }
}

TEST_CASE("each dialect accepts and refuses what its parser does") {
    const std::string arguments = kDialectHead + "%arguments\na=1\n%post\necho {{ a }}\n";
    CHECK(accepts("apptainer>=1.2", arguments));
    CHECK(accepts("ce>=4.0", arguments));
    CHECK_FALSE(accepts("apptainer>=1.1", arguments));
    CHECK_FALSE(accepts("singularity3", arguments));
    // Before templates, the braces are text.
    CHECK(accepts("singularity3", kDialectHead + "%post\necho {{ nope }}\n"));
    CHECK_FALSE(accepts("ce", kDialectHead + "%post\n# {{ nope }}\n"));
    CHECK_FALSE(accepts("apptainer>=1.2", kDialectHead + "%post\n# {{ nope }}\n"));
    CHECK(accepts("apptainer>=1.3", kDialectHead + "%post\n# {{ nope }}\n"));
    CHECK_FALSE(accepts("apptainer>=1.4", kDialectHead + "Target: x\n"));
    CHECK(accepts("apptainer>=1.5", kDialectHead + "Target: x\n"));
    CHECK_FALSE(accepts("ce", kDialectHead + "ConfURL: x\n"));
    CHECK(accepts("ce>=4.3", "Bootstrap: dnf\n"));
    CHECK_FALSE(accepts("ce>=4.2", "Bootstrap: dnf\n"));
    CHECK_FALSE(accepts("apptainer>=1.4", "Bootstrap: buildkit\n"));
    CHECK(accepts("singularity 3.3", "Bootstrap: yum\nInclude: a\\\n"));
    CHECK(accepts("singularity 3.5", kDialectHead + "%files\n\"\n"));
    CHECK_FALSE(accepts("singularity 3.7", kDialectHead + "%files\n\"\n"));
    // "a=1=2" is passed over by 1.2 alone.
    const std::string equals = kDialectHead + "%arguments\na=1=2\n%post\necho {{ a }}\n";
    CHECK_FALSE(accepts("apptainer>=1.2", equals));
    CHECK(accepts("apptainer>=1.3", equals));
}

TEST_CASE("an argument's value is expanded where the dialect does so") {
    const std::string text =
        kDialectHead + "%arguments\na={{ b }} {{ c }}\nb={{ c }}\nc=1\n%post\necho {{ a }}\n";
    const auto post = [&](const char* dialect) {
        const auto outcome = read_definition(text, "x", {{}, *parse_dialect(dialect)});
        REQUIRE(outcome.refusals.empty());
        return outcome.definition.stages[0].joined("post");
    };
    CHECK(post("apptainer") == "echo 1 1\n");
    CHECK(post("apptainer>=1.3") == "echo {{ b }} {{ c }}\n");
}

TEST_CASE("a build argument without a value is reported once, where it stands first") {
    const auto reading =
        read_definition(kDialectHead + "%post\na {{ b }} {{ c }}\nd {{ b }}\n", "x.def", {});
    CHECK(reading.refusals.size() == 2);
}
