// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/format.hpp"
#include "definitions/grammar/tree.hpp"
#include "definitions/lint/lint.hpp"
#include "definitions/lint/report.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

using namespace cybele;
using namespace cybele::definitions;

namespace {

const std::vector<std::string> kLines = {"Bootstrap: localimage",
                                         "bootstrap :scratch",
                                         " Bootstrap: x",
                                         "\xE3\x80\x80"
                                         "Bootstrap: x",
                                         "\t# indented",
                                         "From: /b",
                                         "FROM:/c # d",
                                         "from: a\\",
                                         "  more",
                                         "Stage: one",
                                         "Include: a \\n\\",
                                         "# note",
                                         "",
                                         "  ",
                                         "%post",
                                         "%POST -u",
                                         "%%post",
                                         "%post  -c /bin/sh -e",
                                         " %post",
                                         "%files",
                                         "%files  ",
                                         "%files from one",
                                         "%files from  one # c",
                                         "/a\t/b",
                                         "  \"/x y\" /z",
                                         "'q",
                                         "%labels",
                                         "K  v",
                                         "K=v",
                                         "%arguments",
                                         "a = 1 # c",
                                         "b={{ a }}",
                                         "  {{ b }} {{a}}",
                                         "# {{ x }}",
                                         "%environment",
                                         "export A=1:$A ",
                                         "%help",
                                         "%apprun foo bar",
                                         "%appinstall foo",
                                         "%AppRun x",
                                         "%test",
                                         "cat <<E",
                                         "E",
                                         "\"$(",
                                         "'",
                                         "`",
                                         "${x",
                                         "a | b && c",
                                         "\\",
                                         "curl x | sh"};

rc::Gen<std::string> random_text() {
    return rc::gen::map(
        rc::gen::container<std::vector<std::pair<std::string, std::string>>>(rc::gen::pair(
            rc::gen::oneOf(rc::gen::elementOf(kLines),
                           rc::gen::elementOf(kLines),
                           rc::gen::elementOf(kLines),
                           rc::gen::arbitrary<std::string>()),
            rc::gen::elementOf(std::vector<std::string>{"\n", "\n", "\n", "\r\n", "\r", ""}))),
        [](const std::vector<std::pair<std::string, std::string>>& lines) {
            std::string text;
            for (const auto& [line, end] : lines) {
                text += line + end;
            }
            return text;
        });
}

/// Everything that must hold whatever the bytes are.
std::string fault_of(const std::string& text) {
    if (print_tree(read_tree(text)) != text) {
        return "print";
    }
    const LintReport report = lint_definition(text, "x", {});
    const auto formatted = format_definition(text, "x");
    if (!formatted) {
        return !report.is_accepted || text.size() > 60000 ? "" : "format refuses";
    }
    const bool needs_values = // of build arguments, on which the form does not depend
        std::all_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
            return !finding.is_refusal || finding.rule == "CD021";
        });
    if (!report.is_accepted && !needs_values) {
        return "format accepts";
    }
    const auto again = format_definition(*formatted, "x");
    return again && *again == *formatted ? "" : "format twice";
}

} // namespace

TEST_CASE("the normal form") {
    const auto single = format_definition(
        "# top\r\n from : /b # c\r\n Bootstrap:localimage\r\nInclude: a \\\r\n   b\r\n"
        "%%ARGUMENTS\r\n a = 1 # x\r\n\r\n\r\n%Post -u \r\n echo {{ a }}\r\n\r\n"
        "%LABELS\n  K   v w\n# c\n%files # n\n\t/a\t/b\n\n\n",
        "x");
    REQUIRE(single);
    CHECK(*single == "Bootstrap: localimage\n# top\nFrom: /b # c\nInclude: a \\\n    b\n\n"
                     "%arguments\n    a=1 # x\n\n%post -u\n echo {{ a }}\n\n"
                     "%labels\n    K v w\n    # c\n\n%files # n\n    /a\t/b\n");
}

TEST_CASE("a second Bootstrap in a header counts, and stays no stage") {
    const auto formatted =
        format_definition("Bootstrap: scratch\n Bootstrap: localimage\nFrom: /b\n", "x");
    REQUIRE(formatted);
    CHECK(*formatted == "Bootstrap: localimage\nFrom: /b\n");
}

TEST_CASE("a header that is not in the first column keeps its comments where they are put") {
    const std::string normal = "# a\n# b\n\nBootstrap: localimage\nFrom: /b\n";
    for (const char* text : {"# a\n\n  # b\n  Bootstrap: localimage\n  From: /b\n",
                             "# a\n# b\n\xE3\x80\x80"
                             "Bootstrap: localimage\nFrom: /b\n",
                             "# a\n# b\nBootstrap: localimage\nFrom: /b\n"}) {
        CAPTURE(text);
        const auto formatted = format_definition(text, "x");
        REQUIRE(formatted);
        CHECK(*formatted == normal);
    }
    CHECK(*format_definition(normal, "x") == normal);
    CHECK(*format_definition("# a\n Bootstrap: x\n# b\n Bootstrap: localimage\nFrom: /c\n", "x") ==
          "# b\n\nBootstrap: localimage\n# a\nFrom: /c\n");
}

TEST_CASE("whatever the bytes: print is the identity, nothing crashes, format keeps the meaning") {
    CHECK(rc::check([] {
        const std::string head = *rc::gen::element<std::string>(
            "", "# a\n", "# a\n\n ", "# a\n\xE3\x80\x80", "\t# b\n\t");
        const std::string text = head + "Bootstrap: localimage\n" + *random_text();
        const std::string fault = fault_of(text);
        if (!fault.empty()) {
            RC_FAIL(fault + ": " + text);
        }
    }));
    CHECK(rc::check([] {
        const auto text = *rc::gen::arbitrary<std::string>();
        const std::string fault = fault_of(text);
        if (!fault.empty()) {
            RC_FAIL(fault);
        }
    }));
}

TEST_CASE("the recorded files and the fuzzer's corpus") {
    std::size_t seen = 0;
    for (const char* folder : {"/cases/definitions", "/fuzz/corpus/definition"}) {
        for (const auto& entry :
             std::filesystem::directory_iterator(CYBELE_TESTS_DIR + std::string(folder))) {
            const auto text = read_file(entry.path());
            REQUIRE(text);
            CAPTURE(entry.path());
            CHECK(fault_of(*text).empty());
            ++seen;
        }
    }
    CHECK(seen > 100);
}

TEST_CASE("the tree as JSON") {
    const auto json = nlohmann::json::parse(tree_json(
        read_tree("Bootstrap: scratch\r\n%post -u\necho a\n\nbootstrap: x\n%test\n\xFF\n")));
    REQUIRE(json["stages"].size() == 2);
    CHECK(json["stages"][0]["blocks"][0]["text"] == "Bootstrap: scratch\r\n");
    CHECK(json["stages"][0]["blocks"][1]["name"] == "post");
    CHECK(json["stages"][0]["blocks"][1]["argument"] == "-u");
    CHECK(json["stages"][1]["line"] == 5);
    CHECK(json["stages"][1]["blocks"][1]["base64"] == "JXRlc3QK/wo=");
}

TEST_CASE("build arguments need no value to be formatted") {
    const std::string text = "Bootstrap: docker\nFrom: ubuntu:{{ V }}\n\n%post\n    echo {{ X }}\n";
    CHECK(format_definition(text, "a.def").value() == text);
    CHECK_FALSE(format_definition("Bootstrap: {{ B }}\nFrom: a\n", "a.def").has_value());
}
