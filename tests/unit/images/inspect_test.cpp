// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/inspect_json.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::images;

TEST_CASE("the metadata object is printed as Apptainer prints it") {
    Inspection inspection;
    inspection.labels = {{"b", "2"}, {"a", "<1> & \xE2\x80\xA8"}};
    inspection.definition = "Bootstrap: x\n\n";
    inspection.runscript = "#!/bin/sh\n\necho \"hi\"\n";
    inspection.environment = {{"/.singularity.d/env/90-environment.sh", "A\t=\x01\xff\n"}};
    CHECK(print_inspection(inspection) ==
          R"({"data":{"attributes":{"environment":{"/.singularity.d/env/90-environment.sh":)"
          "\"A\\t=\\u0001\xEF\xBF\xBD\"},"
          R"("labels":{"a":"\u003c1\u003e \u0026 \u2028","b":"2"},)"
          R"("runscript":"#!/bin/sh\n\necho \"hi\"","deffile":"Bootstrap: x"}},)"
          R"("type":"container"})");
    CHECK(print_inspection({}) == R"({"data":{"attributes":{}},"type":"container"})");
}

TEST_CASE("what is printed is read again") {
    Inspection inspection;
    inspection.labels = {{"a", "<1>"}};
    inspection.definition = "d";
    inspection.runscript = "r";
    inspection.startscript = "s";
    inspection.test = "t";
    inspection.help = "h & h";
    inspection.environment = {{"e", "x"}};
    const auto parsed = parse_inspection(print_inspection(inspection));
    REQUIRE(parsed);
    CHECK(parsed->labels == inspection.labels);
    CHECK(parsed->definition == "d");
    CHECK(parsed->runscript == "r");
    CHECK(parsed->startscript == "s");
    CHECK(parsed->test == "t");
    CHECK(parsed->help == "h & h");
    CHECK(parsed->environment == inspection.environment);
}

TEST_CASE("odd metadata is refused or read as far as it goes") {
    for (const auto* text :
         {"", "[]", "{}", R"({"data":5})", R"({"data":{"attributes":[]}})", "{"}) {
        const auto refused = parse_inspection(text);
        REQUIRE_MESSAGE(!refused, text);
        CHECK(refused.error().code() == ErrorCode::kInput);
    }
    const auto parsed = parse_inspection(
        R"({"data":{"attributes":{"labels":{"a":1,"b":"x"},"runscript":{},"test":"t","apps":{}}}})");
    REQUIRE(parsed);
    CHECK(parsed->labels == std::map<std::string, std::string>{{"b", "x"}});
    CHECK(parsed->runscript.empty());
    CHECK(parsed->test == "t");
}

TEST_CASE("the environment files that inspect shows") {
    CHECK(is_shown_environment("90-environment.sh"));
    CHECK(is_shown_environment("91-environment.sh"));
    CHECK(is_shown_environment("10-docker2singularity.sh"));
    CHECK_FALSE(is_shown_environment("01-base.sh"));
    CHECK_FALSE(is_shown_environment("99-base.sh"));
    CHECK_FALSE(is_shown_environment("10-dockerfile"));
}
