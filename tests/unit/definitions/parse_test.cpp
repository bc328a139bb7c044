// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/lines.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::definitions;

namespace {

const std::string kParseHead = "Bootstrap: localimage\nFrom: /b\n";

Fault first_fault(const std::string& text, const BuildArguments& arguments = {}) {
    const auto parsed = parse_definition(text, "x.def", arguments);
    REQUIRE_FALSE(parsed);
    return parsed.error().faults().front();
}

Definition parsed(const std::string& text, const BuildArguments& arguments = {}) {
    auto result = parse_definition(text, "x.def", arguments);
    if (!result) {
        FAIL(result.error().message());
    }
    return std::move(*result);
}

} // namespace

TEST_CASE("sections keep their text, name, arguments and line") {
    const auto d = parsed(kParseHead + "%POST -u\n echo a\r\n\n echo b\n%%post \n echo c");
    REQUIRE(d.stages.size() == 1);
    REQUIRE(d.stages[0].sections.size() == 2);
    const Section& post = d.stages[0].sections[0];
    CHECK(post.name == "post");
    CHECK(post.arguments == "-u");
    CHECK(post.text == " echo a\n\n echo b\n");
    CHECK(post.line == 3);
    CHECK(d.stages[0].sections[1].line == 7);
    CHECK(d.stages[0].joined("post") == " echo a\n\n echo b\n echo c\n");
    CHECK(d.stages[0].has("post"));
    CHECK_FALSE(d.stages[0].has("test"));
}

TEST_CASE("header values: comments, continuations, the last of equal keys") {
    const auto d = parsed("Bootstrap: localimage # c\nFROM : /a\nFrom: /t/\\\n  base # x\n"
                          "Include: a\\n\\\n b\n%post\n");
    CHECK(d.stages[0].header_value("bootstrap") == "localimage");
    CHECK(d.stages[0].header_value("from") == "/t/base");
    CHECK(d.stages[0].header_value("include") == "a\nb");
    CHECK(parsed("Bootstrap: localimage\nFrom: /x\\\n%post\n")
              .stages[0]
              .header_value("from")
              .empty());
}

TEST_CASE("what panics in Apptainer is refused with its place") {
    const Fault fault = first_fault("Bootstrap: localimage\nFrom: /a\\\n# note\n%post\n");
    CHECK(fault.where->line == 3);
    CHECK(first_fault("Bootstrap: localimage\nFrom: /a\\\n\nStage: x\n").where->line == 3);
    CHECK(first_fault(kParseHead + "%files\n/a /b\n \"\n").where->line == 5);
}

TEST_CASE("faults name the line and column, and all are told at once") {
    const auto result =
        parse_definition("Bootstrap: localimage\nFoo: x\n%post\n  %wheel ALL\n%poost\n", "x.def");
    REQUIRE_FALSE(result);
    const auto& faults = result.error().faults();
    REQUIRE(faults.size() == 3);
    CHECK(faults[0].where->line == 2);
    CHECK(faults[1].where->line == 4);
    CHECK(faults[1].where->column == 3);
    CHECK(faults[1].where->text == "  %wheel ALL");
    CHECK(faults[2].help == "did you mean '%post'?");
}

TEST_CASE("the scanner's limit on a section") {
    const auto body = [](std::size_t bytes) {
        return "%post\n:" + std::string(bytes - 8, 'x') + "\n";
    };
    REQUIRE(body(100).size() == 100);
    CHECK(parse_definition(kParseHead + body(65535), "x"));
    CHECK_FALSE(parse_definition(kParseHead + body(65536), "x"));
    CHECK_FALSE(parse_definition(kParseHead + body(65533) + "%environment\n", "x"));
    CHECK(parse_definition(kParseHead + body(65520) + "%environment\n", "x"));
}

TEST_CASE("templates: defaults, given values, nesting, comments") {
    const std::string text = kParseHead +
                             "%arguments\n a=1 # c\n b = {{ a }}x\n%post\n"
                             " echo {{ a }} {{b}}\n # {{ nope }}\n #{{ a }}\n {{ .X }} {{a b}}\n";
    const auto d = parsed(text);
    CHECK(d.stages[0].joined("post") ==
          " echo 1 # c 1 # cx\n # {{ nope }}\n #1 # c\n {{ .X }} {{a b}}\n");
    CHECK(parsed(text, {{"a", "2"}}).stages[0].joined("post").starts_with(" echo 2 2x\n"));
    CHECK(parsed(text, {{"a", "2"}}).text.find("echo 2 2x") != std::string::npos);
    const Fault fault = first_fault(kParseHead + "%post\n echo {{ x }}\n");
    CHECK(fault.where->line == 4);
    CHECK(fault.where->column == 7);
}

TEST_CASE("lines keep their number where a template or its value spans lines") {
    const auto d =
        parsed(kParseHead + "%post\n echo {{\n a }}\n%test\n true\n", {{"a", "1\n2\n3"}});
    CHECK(d.stages[0].sections[0].text == " echo 1\n2\n3\n");
    CHECK(d.stages[0].sections[1].line == 6);
}

TEST_CASE("stages: split anywhere, names, files from") {
    const std::string two =
        "# top\nBootstrap: localimage\nStage: one\n%post\n\nbootstrap: scratch\n";
    const auto d = parsed(two + "%files from one # c\n /a /b\n");
    REQUIRE(d.stages.size() == 2);
    CHECK(d.stages[0].name() == "one");
    CHECK(d.stages[1].line == 6);
    CHECK(files_origin(d.stages[1].sections[0]).stage == "one");
    CHECK(first_fault(two + "%files from two\n /a\n").where->line == 7);
    // Apptainer looks among all stages, this one and later ones too, whatever the first word.
    CHECK(parse_definition(two + "Stage: me\n%files from me\n /a\n", "x"));
    CHECK_FALSE(parse_definition(two + "%files frm two\n /a\n", "x"));
    CHECK(parsed(two + "%files from a b\n /a\n").stages.size() == 2);
    CHECK_FALSE(parse_definition("%post\n" + two, "x"));
    CHECK_FALSE(parse_definition("# nothing\n\n", "x"));
    CHECK_FALSE(parse_definition("\xEF\xBB\xBF" + kParseHead, "x"));
}

TEST_CASE("a stage without a trace is passed over, any other needs a header") {
    for (const char* before :
         {"# c\n", "\n%post\n", "%labels\n# c\n", " %labels\n \n#\n", "\n%test\n%post \n"}) {
        CAPTURE(before);
        const auto d = parse_definition(before + kParseHead, "x");
        REQUIRE(d);
        CHECK(d->stages.size() == 1);
    }
    for (const char* before :
         {"%post\n", "%post\ntrue\n", "\n%files\n", "\n%post -u\n", "\n%apprun a\n"}) {
        CAPTURE(before);
        CHECK_FALSE(parse_definition(before + kParseHead, "x"));
    }
}

TEST_CASE("letters that Unicode folds to ASCII's") {
    CHECK(parse_definition(kParseHead + "%F\xC4\xB0LES\n/a /b\n", "x"));
    CHECK_FALSE(parse_definition(kParseHead + "%post\nboot\xC5\xBFtrap: x\n", "x"));
    CHECK(parse_definition("Bootstrap: yum\nOtherURL&n: x\nOtherURL12: y\n", "x"));
    CHECK_FALSE(parse_definition("Bootstrap: yum\nOtherURL: x\n", "x"));
}

TEST_CASE("%files words: templates hold together, quotes are stripped last") {
    const auto words = [](const char* line) { return split_file_line(line).value(); };
    CHECK(words("/a{{ x }}/b /c").first == "/a{{ x }}/b");
    CHECK(words("{{ x }}{{ y }}z w").first == "{{ x }}{{ y }}z");
    CHECK(words("{{ x }}/{ w").second == "{");
    CHECK(words("\" a \" b").first == " a ");
    CHECK(words("'a b' c").second == "' c");
    CHECK(words("/a\v/b c").first == "/a\v/b");
    CHECK_FALSE(split_file_line("\""));
    Section section;
    section.name = "files";
    for (const auto& [argument, kind] : std::vector<std::pair<std::string, FilesOrigin::Kind>>{
             {"", FilesOrigin::Kind::kHost},
             {"# c", FilesOrigin::Kind::kHost},
             {" ", FilesOrigin::Kind::kSkipped},
             {"from one # c", FilesOrigin::Kind::kStage},
             {"frm one", FilesOrigin::Kind::kStage},
             {"from one two", FilesOrigin::Kind::kSkipped}}) {
        CAPTURE(argument);
        section.arguments = argument;
        CHECK(files_origin(section).kind == kind);
    }
}

TEST_CASE("%files lines: words, quotes, comments") {
    Section section;
    section.name = "files";
    section.line = 10;
    section.text = "# c\n /a\t/b c\n\n \"/with blank\" \"/to here\"\n/only\n/a # note\n";
    const auto lines = file_lines(section);
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].source == "/a");
    CHECK(lines[0].destination == "/b");
    CHECK(lines[0].line == 12);
    CHECK(lines[1].source == "/with blank");
    CHECK(lines[1].destination == "/to here");
    CHECK(lines[2].destination.empty());
    CHECK(lines[3].destination == "#");
    CHECK(lines[3].line == 16);
}

TEST_CASE("labels and arguments") {
    const auto labels = label_lines(" A one two\n# c\nK=v\nA \"x\" # y\nT\tz\n");
    REQUIRE(labels.size() == 3);
    CHECK(labels[0] == std::pair<std::string, std::string>("A", "\"x\" # y"));
    CHECK(labels[1].first == "K=v");
    CHECK(labels[2].first == "T\tz");
    const auto arguments = argument_lines("a=1\nbad\n b = x = y # z\n#c=1\n=2\n");
    CHECK(arguments == BuildArguments{{"a", "1"}, {"b", "x = y # z"}});
}
