// SPDX-License-Identifier: Apache-2.0
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "templates/renderer.hpp"
#include "templates/syntax.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace cybele::embedded {
std::span<const EmbeddedFile> templates();
} // namespace cybele::embedded

namespace cybele::templates {
namespace {

constexpr std::string_view kFirst = "{{! cybelectl template set 1 }}\n";

TemplateSet set_of(std::string_view text, std::string_view part = "") {
    TemplateSet set;
    set.put("test", std::string(kFirst) + std::string(text));
    set.put("part", std::string(kFirst) + std::string(part));
    return set;
}

std::string rendered(std::string_view text, const Values& values) {
    return render(set_of(text), "test", values).value().text;
}

Fault fault_of(std::string_view text, const Values& values) {
    const auto result = render(set_of(text), "test", values);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == ErrorCode::kInput);
    return result.error().faults().front();
}

} // namespace

TEST_CASE("shell text passes unchanged and values become one word") {
    CHECK(rendered("echo ${#a[@]} ${x:-y} {{x}}\n", {{"x", "it's $HOME"}}) ==
          "echo ${#a[@]} ${x:-y} 'it'\\''s $HOME'\n");
    CHECK(rendered("{{{x}}} {{y}}\n", {{"x", "a b"}, {"y", std::uint32_t{7}}}) == "a b 7\n");
}

TEST_CASE("lines with a section alone leave no line, true or false") {
    const std::string_view text = "a\n{{#x}}\nb {{x}}\n{{/x}}\n{{#y}}\nc\n{{/y}}\nd\n";
    CHECK(rendered(text, {{"x", "1"}, {"y", false}}) == "a\nb 1\nd\n");
    CHECK(rendered(text, {{"x", false}, {"y", true}}) == "a\nc\nd\n");
    CHECK(rendered("a\n\n{{#x}}\nb\n{{/x}}\n\nc\n", {{"x", false}}) == "a\n\n\nc\n");
}

TEST_CASE("a missing name is a fault with the template's line") {
    const Fault fault = fault_of("a\nb {{nothing}}\n", {});
    CHECK(fault.message == "the template uses 'nothing', which has no value");
    REQUIRE(fault.where.has_value());
    CHECK(fault.where->file == "test.mustache");
    CHECK(fault.where->line == 3);
    CHECK(fault_of("{{^nothing}}x{{/nothing}}\n", {}).where->line == 2);
    CHECK(fault_of("{{x}}\n", {{"x", true}}).message ==
          "the template writes 'x', which is a flag and no text");
    CHECK(fault_of("{{>nowhere}}\n", {}).message ==
          "the template includes 'nowhere', which does not exist");
    CHECK(fault_of("{{>test}}\n", {}).message == "the template includes 'test' without end");
}

TEST_CASE("mistakes of syntax have a line") {
    const auto said = [](std::string_view text) {
        const Fault fault = fault_of(text, {{"x", true}});
        return std::to_string(fault.where->line) + ": " + fault.message;
    };
    CHECK(said("a\n{{#x}}\n") == "3: the section 'x' is not closed");
    CHECK(said("{{#x}}\n{{^y}}\n{{/x}}\n") == "4: '{{/x}}' closes no section");
    CHECK(said("a\nb {{/x}}\n") == "3: '{{/x}}' closes no section");
    CHECK(said("a {{x\n") == "2: a tag is not closed by '}}'");
    CHECK(said("\n{{{x}}\n") == "3: a tag is not closed by '}}}'");
    CHECK(said("{{ }}\n") == "2: a tag is empty");
    CHECK(said("{{=<% %>=}}\n") == "2: delimiters cannot be changed");
}

TEST_CASE("a section within a line writes its part; alone, false or empty it leaves no line") {
    CHECK(rendered("a{{#x}} b{{/x}}\n", {{"x", true}}) == "a b\n");
    CHECK(rendered("a{{#x}} b{{/x}}\n", {{"x", false}}) == "a\n");
    CHECK(rendered("{{#x}}b{{/x}}\nc\n", {{"x", false}}) == "c\n");
    CHECK(rendered("{{^x}}b{{/x}}\nc\n", {{"x", false}}) == "b\nc\n");
    CHECK(rendered("{{^x}}b{{/x}}\nc\n", {{"x", "text"}}) == "c\n");
    CHECK(rendered("a\n{{! why }}\nb\n", {}) == "a\nb\n");
    const Value none{std::vector<Values>()};
    CHECK(rendered("{{#l}}x{{/l}}{{^l}}none{{/l}}\n", {{"l", none}}) == "none\n");
    const Value two{std::vector<Values>{{{"y", "1"}}, {{"y", "2"}}}};
    CHECK(rendered("{{#l}}{{y}}{{x}} {{/l}}\n", {{"l", two}, {"x", "o"}}) == "1o 2o \n");
}

TEST_CASE(
    "the embedded templates, which no rendering judges again, are without mistakes of syntax") {
    const std::filesystem::path folder = std::string(CYBELE_SOURCE_DIR) + "/templates/script";
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path().native());
        const std::string name = "script/" + entry.path().stem().native();
        CHECK(parse(name, read_file(entry.path(), 1U << 20U).value()).has_value());
        CHECK(TemplateSet().find(name) != nullptr);
        ++count;
    }
    CHECK(count > 10);
}

TEST_CASE("what is written raw holds no control characters") {
    for (const std::string& bad : {std::string("a\nb"),
                                   std::string("a\0b", 3),
                                   std::string("\x1b"),
                                   std::string("a\rb"),
                                   std::string("\t"),
                                   std::string("\x7f")}) {
        CHECK(fault_of("#X {{{x}}}\n", {{"x", bad}}).message.find("cannot be written") !=
              std::string::npos);
        const auto item = std::vector<std::string>{bad};
        CHECK(fault_of("{{#l}}{{{item}}}{{/l}}\n", {{"l", list_of(item)}}).code ==
              ErrorCode::kInput);
    }
    CHECK(rendered("{{{x}}}\n", {{"x", Value::Verbatim{"a\nb"}}}) == "a\nb\n");
}

TEST_CASE("partials, lists and names that were used") {
    const auto set = set_of("{{>part}}\nend\n", "{{#l}}\n- {{item}}\n{{/l}}\n");
    const std::vector<std::string> items{"a", "b c"};
    const auto result = render(set, "test", {{"l", list_of(items)}, {"z", "z"}});
    REQUIRE(result.has_value());
    CHECK(result->text == "- a\n- 'b c'\nend\n");
    CHECK(result->used.contains("l"));
    CHECK_FALSE(result->used.contains("z"));
}

TEST_CASE("templates include each other 51 deep, and not without end") {
    const auto chain = [](int templates) {
        TemplateSet set = set_of("{{>deep1}}\n");
        for (int number = 1; number < templates; ++number) {
            const std::string next = "{{>deep" + std::to_string(number + 1) + "}}\n";
            set.put("deep" + std::to_string(number),
                    std::string(kFirst) + (number + 1 < templates ? next : "the last\n"));
        }
        return render(set, "test", {});
    };
    CHECK(chain(51).value().text == "the last\n");
    const auto refused = chain(52);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message() == "the template includes 'deep51' without end");
    const auto endless = render(set_of("{{>part}}\n", "{{>part}}\n"), "test", {});
    REQUIRE_FALSE(endless.has_value());
    CHECK(endless.error().faults().size() == 1);
}

TEST_CASE("the version changes exactly with the bytes") {
    CHECK(set_of("a\n").version() == set_of("a\n").version());
    CHECK(set_of("a\n").version() != set_of("b\n").version());
    CHECK(set_of("a\n").version().starts_with("1-"));
}

TEST_CASE("embedded texts bring their digests, and the version is that of their bytes") {
    TemplateSet again;
    for (const EmbeddedFile& file : embedded::templates()) {
        CAPTURE(file.name);
        const Digest digest = sha256(file.bytes);
        CHECK(hex(digest) == file.digest);
        again.put(std::string(file.name.substr(0, file.name.rfind('.'))), file.bytes);
    }
    CHECK(again.version() == TemplateSet().version());
}

TEST_CASE(
    "texts replace templates; faults name their files, strange names and other sets are refused") {
    auto set = set_of("a\n");
    const auto render_with = [&set](const std::string& text) {
        REQUIRE(set.replace("test", text, "site/test.mustache"));
        return render(set, "test", {{"x", "1"}});
    };
    const std::string version = set.version();
    CHECK(render_with(std::string(kFirst) + "other {{x}}\n")->text == "other 1\n");
    CHECK(set.version() != version);
    const auto old = render_with("{{! cybelectl template set 2 }}\nx\n");
    REQUIRE_FALSE(old.has_value());
    CHECK(old.error().message() == "the template is not of set 1");
    for (const char* const text : {"x\n{{y}}\n", "x\n{{#x}}\n", "x\n{{>z}}\n"}) {
        CAPTURE(text);
        const auto read = render_with(std::string(kFirst) + text);
        REQUIRE_FALSE(read.has_value());
        const auto place = read.error().faults().front().where.value();
        CHECK(place.file == "site/test.mustache");
        CHECK(place.line == 3);
    }
    CHECK_FALSE(set.replace("tset", "x", "site/tset.mustache"));
}

TEST_CASE("a shell reads any quoted word as it was") {
    CHECK(rc::check("shell quoting", [] {
        const auto word = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
        Command command;
        command.argv = {"/bin/sh", "-c", rendered("printf %s {{x}}\n", {{"x", word}})};
        const auto outcome = run_process(command);
        RC_ASSERT(outcome.has_value());
        RC_ASSERT(outcome->output == word);
    }));
}

} // namespace cybele::templates
