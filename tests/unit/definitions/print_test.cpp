// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/definition.hpp"

#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace cybele;
using namespace cybele::definitions;

namespace {

const std::vector<std::string> kNames = {"arguments",
                                         "pre",
                                         "setup",
                                         "files",
                                         "post",
                                         "environment",
                                         "runscript",
                                         "startscript",
                                         "test",
                                         "labels",
                                         "help",
                                         "appinstall",
                                         "apprun"};

/// Text that means nothing to the format: no leading percent sign, template or stage.
rc::Gen<std::string> words() {
    return rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::oneOf(
        rc::gen::inRange('a', 'f'), rc::gen::elementOf(std::string("/$'\"\\.-_=\xC3")))));
}

rc::Gen<std::string> body() {
    return rc::gen::map(
        rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
            words(), rc::gen::just(std::string("  # {{ x }} \t")), rc::gen::just(std::string()))),
        [](const std::vector<std::string>& lines) {
            std::string text;
            for (const std::string& line : lines) {
                text += line + "\n";
            }
            return text;
        });
}

rc::Gen<std::string> header_value() {
    return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty(
                            rc::gen::container<std::string>(rc::gen::inRange('a', 'f')))),
                        [](const std::vector<std::string>& lines) {
                            std::string value;
                            for (const std::string& line : lines) {
                                value += (value.empty() ? "" : "\n") + line;
                            }
                            return value;
                        });
}

Section random_section(std::size_t which) {
    Section section;
    section.name = kNames[which];
    if (section.name.starts_with("app")) {
        section.arguments = "tool";
    } else if (section.name == "post") {
        section.arguments = *rc::gen::elementOf(std::vector<std::string>{"", "-c /bin/bash -eu"});
    }
    section.text = section.name == "files" ? "/a /b\n" : *body();
    return section;
}

} // namespace

TEST_CASE("what is printed is parsed as the same stages") {
    CHECK(rc::check([] {
        Definition definition;
        const auto stages = *rc::gen::inRange<std::size_t>(1, 4);
        for (std::size_t s = 0; s < stages; ++s) {
            Stage stage;
            stage.header = {{"bootstrap", "localimage"},
                            {"from", *header_value()},
                            {"otherurl3", *header_value()}};
            for (std::size_t which = 0; which < kNames.size(); ++which) {
                const auto times = *rc::gen::inRange(0, 3);
                for (int i = 0; i < times; ++i) {
                    stage.sections.push_back(random_section(which));
                }
            }
            definition.stages.push_back(std::move(stage));
        }
        const std::string text = print_definition(definition);
        const auto parsed = parse_definition(text, "printed");
        if (!parsed) {
            RC_FAIL(parsed.error().message() + "\n" + text);
        }
        RC_ASSERT(parsed->text == text);
        RC_ASSERT(parsed->stages.size() == definition.stages.size());
        for (std::size_t s = 0; s < stages; ++s) {
            const Stage& got = parsed->stages[s];
            const Stage& want = definition.stages[s];
            RC_ASSERT(got.header == want.header);
            RC_ASSERT(got.sections.size() == want.sections.size());
            for (std::size_t i = 0; i < want.sections.size(); ++i) {
                const auto view = [](const Section& x) {
                    return std::tie(x.name, x.arguments, x.text);
                };
                RC_ASSERT(view(got.sections[i]) == view(want.sections[i]));
            }
        }
        RC_ASSERT(print_definition(*parsed) == text);
    }));
}

TEST_CASE("printing puts Bootstrap first and the sections in order") {
    Definition definition;
    Stage stage;
    stage.header = {{"osversion", "bookworm"}, {"bootstrap", "debootstrap"}, {"from", ""}};
    stage.sections = {Section{"labels", "", "A b\n", 0, false},
                      Section{"post", "", "true", 0, false}};
    definition.stages.push_back(stage);
    CHECK(print_definition(definition) ==
          "Bootstrap: debootstrap\nOSVersion: bookworm\nFrom:\n\n%post\ntrue\n%labels\nA b\n");
}
