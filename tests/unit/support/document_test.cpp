// SPDX-License-Identifier: Apache-2.0
#include "support/document_substitute.hpp"
#include "support/document_view.hpp"
#include "support/message.hpp"

#include <map>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using namespace cybele::document;

namespace {

constexpr std::string_view kColours[] = {"red", "green"};
constexpr Shape kText{.type = Type::kText};
constexpr Shape kCount{.type = Type::kCount};
constexpr Shape kFlag{.type = Type::kFlag};
constexpr Shape kSize{.type = Type::kSize};
constexpr Shape kTime{.type = Type::kDuration};
constexpr Shape kScript{.type = Type::kScript};
constexpr Shape kColour{.type = Type::kWord, .words = kColours};
constexpr Shape kColourList{.type = Type::kList, .item = &kColour};
constexpr Field kBoxFields[] = {{"size", &kSize, "how much", true},
                                {"colour", &kColour, "which", false, "red"}};
constexpr Table kBoxTable{.title = "box", .fields = kBoxFields, .has_short_form = true};
constexpr Shape kBox{.type = Type::kMap, .table = &kBoxTable};
constexpr Field kFields[] = {
    {"title", &kText, "what it is called", true},
    {"count", &kCount, "how many", false, "1"},
    {"wet", &kFlag, "whether wet", false, "false"},
    {"box", &kBox, "what it is in"},
    {"time", &kTime, "how long"},
    {"run", &kScript, "what to do"},
    {"colours", &kColourList, "which", false, "[red, green]"},
    {"magic", &kText, "later", false, {}, "magic"},
    {"other", &kText, "instead of magic"},
};
constexpr std::string_view kGroupNames[] = {"magic", "other"};
constexpr Group kGroups[] = {{kGroupNames}};
constexpr Table kTable{.title = "Thing", .fields = kFields, .groups = kGroups};
constexpr Kind kThing{.name = "Job", .description = "A thing.", .table = &kTable};

} // namespace

TEST_CASE("values have the field's type, and the table's default where they are not written") {
    const auto reading = Reading::open(kThing, "kind: Job\ntitle: 1.10\nbox: 4 GiB\n", "t.yaml");
    REQUIRE(reading.has_value());
    const View root = reading->root();
    CHECK(root.text("title") == "1.10");
    CHECK(root.count("count") == 1);
    CHECK_FALSE(root.flag("wet"));
    CHECK(root.table("box").maybe_size("size") == std::uint64_t{4} << 30U);
    CHECK(root.table("box").text("colour") == "red");
    CHECK(root.list("colours") == std::vector<std::string>{"red", "green"});
    CHECK(reading->marks().at("box.size").line == 3);
    CHECK(reading->marks().at("title").column == 8);
}

TEST_CASE("a wrong value is told with its place, the reason and a remedy") {
    struct Row {
        const char* line; ///< third line of the document
        const char* message;
        std::size_t column;
        const char* help;
    };
    const Row rows[] = {
        {"box: 4", "'box' requires a size, not '4'", 6, "add the unit: `4 MiB` or `4 GiB`"},
        {"box: {size: 4 GB}", "'box.size' requires a size, not '4 GB'", 13, "write `4 GiB`"},
        {"time: 30",
         "'time' requires a duration, not '30'",
         7,
         "add the unit: `30 s`, `30 min` or `30 h`"},
        {"time: 1:30",
         "'time' requires a duration, not '1:30'",
         7,
         "write which is meant: `1 h 30 min` or `1 min 30 s`"},
        {"count: 04", "'count' requires a count, not '04'", 8, "write `4`"},
        {"count: \"4\"", "'count' requires a count, not '4'", 8, "write `4`"},
        {"count: four", "'count' requires a count, not 'four'", 8, "write `4`"},
        {"count: 3 boxes", "'count' requires a count, not '3 boxes'", 8, "write `3`"},
        {"count: many", "'count' requires a count, not 'many'", 8, "write a number in digits"},
        {"wet: yes", "'wet' requires a flag, not 'yes'", 6, "write `true`"},
        {"wet: \"false\"", "'wet' requires a flag, not 'false'", 6, "write `false`"},
        {"wet: maybe", "'wet' requires a flag, not 'maybe'", 6, "write `true` or `false`"},
        {"box: {size: 4 G, colour: pale}",
         "'box.colour' requires one of red, green, not 'pale'",
         26,
         "write one of them, for example `red`"},
        {"box: {size: 4 G, colour: gren}",
         "'box.colour' requires one of red, green, not 'gren'",
         26,
         "did you mean `green`?"},
        {"colours: red", "'colours' requires a list, not 'red'", 10, "write `[red]`"},
        {"cuont: 4", "unknown field 'cuont'", 1, "did you mean `count`?"},
        {"box: {colour: red}", "'size' is missing", 6, "add `size: 4 GiB`"},
        {"time:", "'time' has no value", 1, "remove `time`, or give it a value"},
        {"run: \"a\\u0001\"", "'run' requires a script, not 'a\\x01'", 6, "remove them"},
        {"other: \"a\\nb\"", "'other' requires a text, not 'a\\nb'", 8, "write it on one line"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.line);
        auto reading =
            Reading::open(kThing, "kind: Job\ntitle: a\n" + std::string(row.line) + "\n", "t.yaml");
        REQUIRE(reading.has_value());
        REQUIRE(reading->faults().all().size() == 1);
        const Fault& fault = reading->faults().all().front();
        CHECK(fault.code == ErrorCode::kInput);
        CHECK(fault.message == row.message);
        CHECK(fault.help == row.help);
        CHECK(fault.because != "");
        REQUIRE(fault.where.has_value());
        CHECK(fault.where->line == 3);
        CHECK(fault.where->column == row.column);
        CHECK(fault.where->text == row.line);
    }
}

TEST_CASE("what is no such document at all") {
    struct Row {
        const char* text;
        const char* message;
        std::size_t line;
        const char* help;
    };
    const Row rows[] = {
        {"title: a\n", "'kind' is missing", 1, "add `kind: Job` as the first line"},
        {"kind: Jobb\n", "a Job is expected here, not kind 'Jobb'", 1, "did you mean `kind: Job`?"},
        {"kind: Site\n",
         "a Job is expected here, not kind 'Site'",
         1,
         "give another file; this one is read by `cybelectl site check t.yaml`"},
        {"kind: Recipe\n",
         "a Job is expected here, not kind 'Recipe'",
         1,
         "write a Job for it: `cybelectl job new --recipe t.yaml -o t-job.yaml`"},
        {"- a\n", "a Job is a map of fields", 1, "add `kind: Job` as the first line"},
        {"kind: Job\napiVersion: batch/v1\n",
         "this is a Kubernetes object, not one of our documents",
         2,
         "turn it into a Job: `cybelectl job convert t.yaml`"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const auto reading = Reading::open(kThing, row.text, "t.yaml");
        REQUIRE_FALSE(reading.has_value());
        const Fault& fault = reading.error().faults().front();
        CHECK(fault.message == row.message);
        CHECK(fault.help == row.help);
        CHECK(fault.where->line == row.line);
    }
}

TEST_CASE("kind comes first, format second, and only format 1 is known") {
    const auto count = [](const char* text) {
        auto reading = Reading::open(kThing, text, "t.yaml");
        return reading ? reading->faults().all().size() : std::size_t{99};
    };
    CHECK(count("kind: Job\nformat: 1\ntitle: a\n") == 0);
    CHECK(count("title: a\nkind: Job\n") == 1);
    CHECK(count("kind: Job\ntitle: a\nformat: 1\n") == 1);
    CHECK(count("kind: Job\nformat: 2\ntitle: a\n") == 1);
}

TEST_CASE("all faults at once, in the file's order") {
    auto reading = Reading::open(
        kThing, "kind: Job\ntime: 5\ncount: x\nnope: 1\nother: a\nmagic: b\n", "t.yaml");
    REQUIRE(reading.has_value());
    CHECK(reading->faults().all().size() == 5); // title is missing, other and magic exclude
    CHECK_FALSE(reading->is_good("time"));
    CHECK(reading->is_good("colours"));
    const Error error = reading->faults().take();
    CHECK(error.faults()[1].where->line <= error.faults()[2].where->line);
    CHECK(error.faults()[3].where->line <= error.faults()[4].where->line);
}

TEST_CASE("what is not yet done is kept apart from faults") {
    auto reading = Reading::open(kThing, "kind: Job\ntitle: a\nmagic: b\n", "t.yaml");
    REQUIRE(reading.has_value());
    CHECK(reading->faults().empty());
    REQUIRE(reading->not_yet().size() == 1);
    CHECK(reading->not_yet().front().message == "not supported yet: magic");
    CHECK(reading->not_yet().front().where->line == 3);
}

TEST_CASE("substitution reaches texts, not scripts, counts or keys") {
    auto document = yaml::parse(
        "kind: Job\ntitle: a@{x}b@@{x}@{y-z}\nrun: echo @{x}\nother: \"@{nope}\"\n", "t.yaml");
    REQUIRE(document.has_value());
    Faults faults;
    substitute(kThing, *document, {{"x", "1"}, {"y-z", "@{x}"}}, faults);
    CHECK(document->root.find("title")->scalar == "a1b@{x}@{x}");
    CHECK(document->root.find("run")->scalar == "echo @{x}");
    REQUIRE(faults.all().size() == 1);
    CHECK(faults.all().front().message == "'nope' has no value");
    CHECK(faults.all().front().where->line == 4);
}

TEST_CASE("the schema says what the table says, twice the same") {
    const std::string text = json_schema(kThing);
    CHECK(text == json_schema(kThing));
    const auto schema = nlohmann::json::parse(text);
    CHECK(schema["properties"]["kind"]["const"] == "Job");
    CHECK(schema["required"] == nlohmann::json::array({"kind", "title"}));
    CHECK(schema["additionalProperties"] == false);
    CHECK(schema["properties"]["count"]["default"] == 1);
    CHECK(schema["properties"]["wet"]["default"] == false);
    CHECK(schema["properties"]["colours"]["default"] == nlohmann::json::array({"red", "green"}));
    CHECK(schema["properties"]["box"]["anyOf"].size() == 2);
    CHECK(schema["allOf"][0]["oneOf"].size() == 3);
    CHECK(schema["$defs"].contains("size"));
    CHECK(reference_tables(kThing).find("| `colour` | `red`, `green` | `red` | which |") !=
          std::string::npos);
}

TEST_CASE("a field is explained with its type, its default and the fields of its map") {
    CHECK(explain_field(kThing, "box").value() == "job.box: size or map box\n"
                                                  "meaning: what it is in\n"
                                                  "fields:\n"
                                                  "  size    size, required: how much\n"
                                                  "  colour  `red`, `green`: which\n"
                                                  "more: cybelectl explain job\n");
    CHECK(explain_field(kThing, "box.colour").value() == "job.box.colour: `red`, `green`\n"
                                                         "meaning: which\n"
                                                         "default: red\n"
                                                         "more: cybelectl explain job\n");
    CHECK(explain_field(kThing, "title").value().find("\nrequired\n") != std::string::npos);
    const auto mistyped = explain_field(kThing, "box.color");
    REQUIRE_FALSE(mistyped.has_value());
    CHECK(mistyped.error().message() == "'job.box' has no field 'color'");
    CHECK(mistyped.error().faults().front().help == "did you mean 'colour'?");
    CHECK(explain_field(kThing, "title.x").error().faults().front().because == "it has no fields");
    CHECK_FALSE(explain_field(kThing, "").has_value());
    CHECK_FALSE(explain_field(kThing, "box.").has_value());
}
