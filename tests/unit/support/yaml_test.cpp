// SPDX-License-Identifier: Apache-2.0
#include "support/message.hpp"
#include "support/yaml.hpp"

#include <ctime>
#include <string>

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("scalars keep their text and their place") {
    const auto document =
        yaml::parse("kind: Job\nversion: 1.10\nflag: yes\nquoted: \"4\"\n", "a.yaml");
    REQUIRE(document.has_value());
    const yaml::Node* version = document->root.find("version");
    REQUIRE(version != nullptr);
    CHECK(version->scalar == "1.10");
    CHECK(version->mark.line == 2);
    CHECK(version->mark.column == 10);
    CHECK(version->is_plain);
    CHECK_FALSE(document->root.find("quoted")->is_plain);
}

TEST_CASE("what readers understand differently is refused, all at once, with places") {
    struct Row {
        const char* text;
        const char* message;
        std::size_t line;
        std::size_t column;
    };
    const Row rows[] = {
        {"a: 1\na: 2\n", "duplicate key 'a'", 2, 1},
        {"a: &x 1\nb: *x\n", "anchors and aliases are not read", 1, 4},
        {"a: !!int 1\n", "tags are not read", 1, 4},
        {"a: 1\n---\nb: 2\n", "a second document in one file", 2, 1},
        {"{a: 1}: 2\n", "a key must be a word", 1, 1},
        {"a: [1, 2\n", "`[` is not closed", 1, 4},
        {"a: b: c\n", "a value with a colon is not in quotes", 1, 4},
        {"a: 'x\n", "a quote is not closed", 1, 4},
        {"a: 1\nb: \"x\\\"\nc: 2\n", "a quote is not closed", 2, 4},
        {"a: 'it''s\nc: 2\n", "a quote is not closed", 1, 4},
        {"ü: 'x\n", "a quote is not closed", 1, 5},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        const auto document = yaml::parse(row.text, "a.yaml");
        REQUIRE_FALSE(document.has_value());
        const Fault& fault = document.error().faults().front();
        CHECK(fault.message.find(row.message) == 0);
        REQUIRE(fault.where.has_value());
        CHECK(fault.where->line == row.line);
        CHECK(fault.where->column == row.column);
        CHECK(fault.code == ErrorCode::kInput);
    }
    const auto both = yaml::parse("a: 1\na: 2\nb: &x 3\n", "a.yaml");
    REQUIRE_FALSE(both.has_value());
    CHECK(both.error().faults().size() == 2);
}

TEST_CASE("a quote that is closed is none that is open") {
    for (const char* good : {"a: 'x'\n",
                             "a: ''\n",
                             "a: 'it''s'\n",
                             "a: 'x'''\n",
                             "a: \"x\\\\\"\n",
                             "a: \"x\\\"y\" # '\n",
                             "a: \"two\n  lines\"\nb: it's\n",
                             "a: 'x'\nb: |\n  it's\n",
                             "a: >-\n  'x\n"}) {
        CAPTURE(good);
        CHECK(yaml::parse(good, "a.yaml").has_value());
    }
}

TEST_CASE("what is no yaml is refused with a remedy") {
    struct Row {
        const char* text;
        const char* help;
    };
    const Row rows[] = {
        {"a: b: c\n", "write `'b: c'` in place of `b: c`"},
        {"a: {b: 1\n", "write `}` at the end of the line"},
        {"a: [1\n", "write `]` at the end of the line"},
        {"a: 1\nb: ]\n", "remove the bracket"},
        {"a:\n  b: 1\n c: 2\n", "begin it in column 3"},
        {"- - 1\n - 2\n", "begin it in column 5"},
        {"a: - 1\n", "begin the list on a line"},
        {"a: 'x\n---\n'", "write `'x'` in place of `'x`"},
        {"a: 'x", "write `'x'` in place of `'x`"},
        {"a: \"\\q\"\n", "write `\\\\q` in place of `\\q`"},
        {"- b\n\t- c\n", "indent with blanks"},
        {"a: @x\n", "write `'@x'` in place of `@x`"},
        {"a: [echo, @{x}]\n", "write `'@{x}'` in place of `@{x}`"},
        {"a: [echo, @x]\n", "write `'@x'` in place of `@x`"},
        {"a: {b: @{x}, c: 1}\n", "write `'@{x}'` in place of `@{x}`"},
        {"a: [@{x, b]\n", "write `'@{x'` in place of `@{x`"},
        {"a: 1\nb: |\necho hi\necho ho\n", "indent the lines of `b` by two blanks"},
        {"a: |\necho hi\necho ho\nb: {c: 1}\n", "indent the lines of `a` by two blanks"},
        {"a: >-\ncd x\n./y --z=1\n", "indent the lines of `a` by two blanks"},
        {"a: *x\n", "define the anchor"},
        {"a: !<x\n", "look for a quote"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        const auto document = yaml::parse(row.text, "a.yaml");
        REQUIRE_FALSE(document.has_value());
        CAPTURE(document.error().message());
        CHECK(document.error().faults().front().help.starts_with(row.help));
    }
}

TEST_CASE("a tab that indents is named, with its line and column") {
    struct Row {
        const char* text;
        std::size_t line;
        std::size_t column;
    };
    const Row rows[] = {
        {"kind: Job\npackages:\n\tneeds: [curl]\n", 3, 1},
        {"kind: Job\npackages:\n  a: 1\n  \tneeds: [curl]\n", 4, 3},
        {"packages:\n\tneeds: [curl]\nname: x\n", 2, 1},
        {"packages:\n\t- curl\n", 2, 1},
        {"- b\n\t- c\n", 2, 1},
        {"kind: Job\n\timage: a.sif\n", 2, 1},
        {"a:\n  b: 1\n\tc: 2\n", 3, 1},
        {"a: [1,\n\t2\nb: 3\n", 2, 1},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        const auto document = yaml::parse(row.text, "a.yaml");
        REQUIRE_FALSE(document.has_value());
        const Fault fault = document.error().faults().front();
        CHECK(fault.message == "a tab indents this line");
        CHECK(fault.help == "indent with blanks");
        CHECK(fault.where->line == row.line);
        CHECK(fault.where->column == row.column);
    }
    // Tabs in a script, in a value and behind one are text or nothing.
    for (const char* good : {"script: |\n  \techo\n", "a: \"x\ty\"\n", "a: 1\t\n"}) {
        CAPTURE(good);
        CHECK(yaml::parse(good, "a.yaml").has_value());
    }
}

TEST_CASE("bytes that are no text are refused") {
    CHECK_FALSE(yaml::parse("a: \xff\n", "a.yaml").has_value());
    CHECK_FALSE(yaml::parse(std::string("a: \0b\n", 6), "a.yaml").has_value());
    CHECK_FALSE(yaml::parse("", "a.yaml").has_value());
}

TEST_CASE("the time for a document grows as its number of keys, right or duplicate") {
    const auto cpu_time = [](int keys, const std::string& number_of) {
        std::string text;
        for (int i = 0; i < keys; ++i) {
            text += "key" + (number_of.empty() ? std::to_string(i) : number_of) + ": 1\n";
        }
        const std::clock_t before = std::clock();
        CHECK(yaml::parse(text, "a.yaml").has_value() == number_of.empty());
        return static_cast<double>(std::clock() - before);
    };
    for (const std::string& number : {std::string(), std::string("7")}) {
        CAPTURE(number);
        // Eight times as many: 64 times the time where each key is compared with all others.
        CHECK(cpu_time(64000, number) < 24 * cpu_time(8000, number));
    }
}

TEST_CASE("deep nesting ends in an error, not in a full stack") {
    std::string text;
    for (int i = 0; i < 5000; ++i) {
        text += "[";
    }
    const auto document = yaml::parse(text, "a.yaml");
    REQUIRE_FALSE(document.has_value());
    CHECK(document.error().message().find("not yaml") == 0);
}

TEST_CASE("a fault is shown with its line and a caret") {
    const auto document = yaml::parse("kind: Job\n\ttsks: &x 4\n", "job.yaml");
    REQUIRE_FALSE(document.has_value());
    Fault fault;
    fault.message = "unknown field 'tsks'";
    fault.where = Place{"job.yaml", 4, 3, "  tsks: 4"};
    fault.because = "a Job has no such field";
    fault.help = "did you mean 'tasks'?";
    CHECK(format_text(fault) == "error: unknown field 'tsks'\n"
                                " --> job.yaml:4:3\n"
                                "  |   tsks: 4\n"
                                "  |   ^\n"
                                "because: a Job has no such field\n"
                                "help: did you mean 'tasks'?\n");
}
