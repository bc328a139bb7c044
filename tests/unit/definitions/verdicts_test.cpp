// SPDX-License-Identifier: Apache-2.0
// Apptainer's verdicts on recorded definition files (tests/cases/definitions).
#include "definitions/grammar/definition.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("the parser agrees with Apptainer on every recorded definition file") {
    const std::filesystem::path cases = CYBELE_TESTS_DIR "/cases/definitions";
    const auto table = read_file(cases / "verdicts.tsv");
    REQUIRE(table);
    std::istringstream lines(*table);
    std::string line;
    std::getline(lines, line);
    std::size_t judged = 0;
    while (std::getline(lines, line)) {
        const std::string name = line.substr(0, line.find('\t'));
        const std::string rest = line.substr(name.size() + 1);
        const std::string verdict = rest.substr(0, rest.find('\t'));
        CAPTURE(line);
        const auto text = read_file(cases / name);
        REQUIRE(text);
        const auto parsed = definitions::parse_definition(*text, name);
        CHECK(parsed.has_value() == (verdict == "accept"));
        if (!parsed) {
            CHECK(parsed.error().code() == ErrorCode::kInput);
            REQUIRE(parsed.error().faults().front().where);
            CHECK(parsed.error().faults().front().where->line > 0);
            CHECK(parsed.error().faults().front().where->column > 0);
        }
        ++judged;
    }
    CHECK(judged >= 53);
}
