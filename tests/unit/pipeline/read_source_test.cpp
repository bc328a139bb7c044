// SPDX-License-Identifier: Apache-2.0
// The first phase of a build: what is read, and what is refused before anything is built.
#include "pipeline/image_build.hpp"
#include "pipeline/image_plan.hpp"
#include "pipeline/plan_json.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <functional>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using namespace cybele::pipeline;

namespace {

namespace fs = std::filesystem;

struct SourceBench {
    TempDirectory folder = TempDirectory::make("/tmp", "cybele-source").value();
    fs::path definition = folder.path() / "app.def";

    SourceBench() {
        REQUIRE(write_file(definition, "Bootstrap: scratch\n%files\na.txt /a\n%labels\nOwner me\n")
                    .has_value());
        REQUIRE(write_file(folder.path() / "a.txt", "a\n").has_value());
    }
    [[nodiscard]] ImageBuild request() const {
        ImageBuild build;
        build.source = definition;
        build.settings.environment =
            Environment{EnvironmentMap{{"CYBELE_CACHE_DIR", (folder.path() / "cache").native()}}};
        return build;
    }
};

} // namespace

TEST_CASE("read: the definition, where its image goes and what it copies; nothing is built") {
    const SourceBench bench;
    std::string told;
    ImageBuild build = bench.request();
    build.settings.reporter.on_step = [&told](const std::string& line) { told += line; };
    const auto plan = read_source(build);
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    CHECK(plan->source == bench.definition);
    CHECK(plan->output == bench.folder.path() / "app.sif");
    CHECK_FALSE(plan->is_recipe);
    REQUIRE(plan->copies.size() == 1);
    CHECK_FALSE(told.empty()); // of the files that it copies
    CHECK_FALSE(fs::exists(plan->output));
    const std::string line = print_json(*plan);
    CHECK(line.find('\n') == std::string::npos);
    const auto value = nlohmann::json::parse(line);
    CHECK(value["kind"] == "definition");
    CHECK(value["output"] == plan->output.native());
    CHECK(value["copies"][0]["to"] == "/a");
    CHECK(value["epoch"].is_null());
}

TEST_CASE("read: what no build could make right is refused before") {
    const SourceBench bench;
    struct Row {
        const char* fault;
        std::function<void(ImageBuild&)> change;
    };
    const fs::path folder = bench.folder.path();
    const Row rows[] = {
        {"image-to-standard-output", [](ImageBuild& build) { build.output = "-"; }},
        {"output-is-directory", [&](ImageBuild& build) { build.output = folder; }},
        {"output-is-source", [&](ImageBuild& build) { build.output = bench.definition; }},
        {"output-of-other-source", [&](ImageBuild& build) { build.output = folder / "a.txt"; }},
        {"output-folder-missing", [&](ImageBuild& build) { build.output = folder / "no/a.sif"; }},
        {"provenance-without-key",
         [&](ImageBuild& build) { build.provenance.file = folder / "p.json"; }},
        {"provenance-file-conflict",
         [&](ImageBuild& build) { build.provenance.file = folder / "app.sif"; }},
        {"option-with-other-builder",
         [](ImageBuild& build) {
             build.settings.builder = "apptainer";
             build.steps.timeout = 5;
         }},
        {"provenance-with-other-builder", [&](ImageBuild& build) {
             build.settings.builder = "apptainer";
             build.settings.sign_key = folder / "key.pem";
             build.provenance.file = folder / "p.json";
         }}};
    for (const auto& [fault, change] : rows) {
        CAPTURE(fault);
        ImageBuild build = bench.request();
        change(build);
        const auto plan = read_source(build);
        REQUIRE_FALSE(plan.has_value());
        CHECK(plan.error().faults().front().id == fault);
    }
    ImageBuild forced = bench.request();
    forced.output = folder / "a.txt";
    forced.force = true;
    CHECK(read_source(forced).has_value());
}
