// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/keep_sections.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::definitions;

TEST_CASE("sections: a name that --section does not choose is refused with the near one") {
    CHECK(check_section_names({"files", "post", "test"}));
    CHECK(check_section_names({"none"}));
    CHECK(check_section_names({"all"}));
    const auto misspelt = check_section_names({"post", "flies"});
    REQUIRE_FALSE(misspelt);
    CHECK(misspelt.error().faults().front().help == "did you mean 'files'?");
    CHECK_FALSE(check_section_names({"appinstall"}));
}

TEST_CASE("sections: those that are not named are left out, and %post never") {
    const std::string text = "Bootstrap: docker\nFrom: debian:12\n%files\n  a /a\n%post\n  true\n"
                             "%environment\n  export A=1\n%test\n  true\n%labels\n  A b\n";
    const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
        {{}, "files post environment test labels "},
        {{"all"}, "files post environment test labels "},
        {{"none"}, "post "},
        {{"post"}, "post "},
        {{"files", "test"}, "files post test "},
        {{"nothing-such"}, "post "},
        {{"all", "post"}, "refused"},
        {{"post", "none"}, "refused"},
    };
    for (const auto& [names, expected] : rows) {
        CAPTURE(expected);
        Definition definition = parse_definition(text, "a.def").value();
        const std::string stored = definition.text;
        std::string left;
        if (!keep_sections(definition, names)) {
            left = "refused";
        } else {
            for (const std::string name : {"files", "post", "environment", "test", "labels"}) {
                left += definition.stages.back().has(name) ? name + " " : "";
            }
        }
        CHECK(left == expected);
        CHECK(definition.text == stored);
    }
}
