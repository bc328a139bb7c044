// SPDX-License-Identifier: Apache-2.0
// The phases of a build, each from a value of the one before, without the others.
#include "bench.hpp"
#include "builder/pack/phase_json.hpp"
#include "builder/pack/phases.hpp"
#include "builder/processes/apart.hpp"
#include "builder/processes/helper_process.hpp"
#include "builder/steps/inside.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using namespace cybele::builder;
using Json = nlohmann::json;

namespace {

const std::string kTwoSteps = kBase + kInstall + "%post\necho one > /one\n";

/// A request, and what all phases work with.
struct PhaseBench : Bench {
    explicit PhaseBench(const std::string& text = kTwoSteps) : asked(request(text)) {
        for (auto& section : asked.source.definition.stages[0].sections) {
            section.is_self_contained = true;
        }
        REQUIRE(cache.prepare().has_value());
    }
    [[nodiscard]] BasedBuild based() {
        auto plan = make_plan(asked, environment);
        REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
        auto found = find_bases(std::move(*plan), context);
        REQUIRE_MESSAGE(found.has_value(), found.error().message());
        return std::move(*found);
    }

    BuildRequest asked;
    registry::Cache cache{environment.cache_directory()};
    registry::KnownFiles files = registry::KnownFiles::none();
    AgentContext context{asked, environment, cache, files};
};

std::vector<std::string> keys_of(const BasedBuild& build) {
    std::vector<std::string> keys{build.keys[0].base};
    for (const StepKey& step : build.keys[0].steps) {
        keys.push_back(step.key);
    }
    return keys;
}

/// The place of the first difference.
std::size_t first_difference(const std::vector<std::string>& one,
                             const std::vector<std::string>& other) {
    std::size_t at = 0;
    while (at < one.size() && at < other.size() && one[at] == other[at]) {
        ++at;
    }
    return at;
}

} // namespace

TEST_CASE("plan: the steps are in order, and nothing was made") {
    PhaseBench bench;
    const auto plan = make_plan(bench.asked, bench.environment);
    REQUIRE(plan.has_value());
    REQUIRE(plan->stages.size() == 1);
    std::vector<std::string> names;
    for (const Step& step : plan->stages[0].steps) {
        names.push_back(step.name);
    }
    CHECK(names == std::vector<std::string>{"%files", "%post 1 of 2", "%post 2 of 2"});
    CHECK_FALSE(fs::exists(bench.asked.output));
}

TEST_CASE("bases: a key names all that its tree depends on, and nothing more") {
    PhaseBench bench;
    const BasedBuild same = bench.based();
    CHECK(keys_of(same) == keys_of(bench.based()));
    CHECK(keys_of(same).size() == 4);
    CHECK_FALSE(same.image_key.empty());
    PhaseBench later(kBase + kInstall + "%post\necho two > /one\n");
    CHECK(first_difference(keys_of(same), keys_of(later.based())) == 3);
    PhaseBench sooner(kBase + "%post\n/bin/busybox --install /bin\n%post\necho one > /one\n");
    CHECK(first_difference(keys_of(same), keys_of(sooner.based())) == 2);
    bench.asked.image.compression = "gzip"; // of the image, not of a tree
    const BasedBuild packed_otherwise = bench.based();
    CHECK(keys_of(packed_otherwise) == keys_of(same));
    CHECK(packed_otherwise.image_key != same.image_key);
    CHECK_FALSE(fs::exists(bench.asked.output));
}

TEST_CASE("bases: modes of copied files and labels of another name are in the keys") {
    PhaseBench bench;
    const BasedBuild same = bench.based();
    bench.asked.steps.follows_apptainer = true;
    const BasedBuild like_cp = bench.based();
    CHECK(first_difference(keys_of(same), keys_of(like_cp)) == 0); // its base has fewer files
    bench.asked.steps.umask = 0077;
    CHECK(first_difference(keys_of(like_cp), keys_of(bench.based())) == 1);
    bench.asked.steps = StepRules();
    CHECK(bench.based().image_key == same.image_key);
    CHECK(like_cp.image_key != same.image_key);
}

TEST_CASE("a build's process that throws ends with a fault, and never returns to its caller") {
    const SignalCatcher signals;
    const auto thrown = [](const Report&) -> Result<void> { throw std::out_of_range("at 7"); };
    const pid_t caller = ::getpid();
    const auto apart = run_apart(namespaces::IdMap::kNone, signals, {}, thrown);
    REQUIRE(::getpid() == caller);
    REQUIRE_FALSE(apart);
    CHECK(apart.error().faults().front().id == "build-process-fault");
    CHECK(apart.error().faults().front().because == "at 7");
    auto helper = HelperProcess::start([&] { return thrown({}); });
    REQUIRE(helper);
    const auto ended = helper->wait();
    REQUIRE_FALSE(ended);
    CHECK(ended.error().faults().front().id == "build-process-fault");
}

TEST_CASE("steps, then pack: trees and a file without the output's name") {
    PhaseBench bench;
    const BasedBuild build = bench.based();
    auto host_environment = find_surroundings(bench.asked, bench.environment);
    REQUIRE(host_environment.has_value());
    host_environment->work = bench.here / "work";
    fs::create_directories(host_environment->work);
    const fs::path file = bench.here / "packed.sif";
    std::vector<std::string> heard;
    const SignalCatcher signals;
    const auto work = [&](const Report& report) -> Result<void> {
        CYBELE_TRY(const BuiltTrees trees,
                   run_steps(build, *host_environment, report, bench.context));
        report("tree: " + content(trees.roots.back() / "one"));
        report("packed before: " + std::to_string(fs::exists(file) ? 1 : 0));
        return pack_image(trees, build, file, report, bench.context).map([](const auto&) {});
    };
    const Report hear = [&heard](const std::string& line) { heard.push_back(line); };
    const auto done = run_apart(build.map, signals, hear, work);
    REQUIRE_MESSAGE(done.has_value(), done.error().message());
    CHECK(heard == std::vector<std::string>{"%files",
                                            "%post 1 of 2",
                                            "%post 2 of 2",
                                            "tree: one\n",
                                            "packed before: 0",
                                            "pack out.sif"});
    CHECK(images::Image::open(file).has_value());
    CHECK_FALSE(fs::exists(bench.asked.output));
    const auto again = reuse_image(build, bench.here / "again.sif", bench.context);
    REQUIRE(again.has_value());
    REQUIRE(again->has_value());
    CHECK((*again)->is_reused);
    CHECK(content((*again)->file) == content(file));
}

TEST_CASE("sign: a failed signature is an error; what was signed by whom tells what it is of") {
    PhaseBench bench;
    const BasedBuild build = bench.based();
    REQUIRE(builder::build(bench.asked, bench.environment).has_value());
    const PackedImage packed{bench.asked.output, false};
    const auto sign = [&] { return sign_image(packed, build, bench.context); };
    const auto unsigned_image = sign();
    REQUIRE(unsigned_image.has_value());
    CHECK(unsigned_image->signatures == 0);
    CHECK(unsigned_image->made_from.has_value());
    bench.asked.signing.sign = [](const images::Image& /*image*/) {
        return Result<std::vector<images::NewObject>>();
    };
    CHECK_FALSE(sign().value().made_from.has_value()); // its maker is not known
    bench.asked.signing.signers = "signed by me\n";
    const auto mine = sign();
    REQUIRE(mine.has_value());
    CHECK(mine->made_from.has_value());
    CHECK(mine->made_from != unsigned_image->made_from);
    bench.asked.signing.sign = [](const images::Image& /*image*/) {
        return Result<std::vector<images::NewObject>>(
            fail(ErrorCode::kInput, problem("key-missing", "there is no key")));
    };
    CHECK(sign().error().message() == "there is no key");
}

TEST_CASE("name: the file has the output's name, and takes no other file's place unasked") {
    PhaseBench bench;
    put(bench.here / "signed.sif", "an image");
    put(bench.asked.output, "another");
    const SignedImage image{bench.here / "signed.sif", 0, {}};
    CHECK_FALSE(name_image(image, bench.context).has_value());
    CHECK(content(bench.asked.output) == "another");
    bench.asked.force = true;
    const auto named = name_image(image, bench.context);
    REQUIRE(named.has_value());
    CHECK(named->bytes == 8);
    CHECK(content(bench.asked.output) == "an image");
    CHECK_FALSE(fs::exists(image.file));
}

TEST_CASE("each phase's value is one line of JSON, in the order of the phases") {
    Bench bench;
    auto request = bench.request(kTwoSteps);
    request.force = true;
    std::vector<std::string> phases;
    std::vector<Json> values;
    request.reporter.on_phase = [&](const std::string& phase, const std::string& value) {
        phases.push_back(phase);
        CHECK(value.find('\n') == std::string::npos);
        values.push_back(Json::parse(value));
    };
    REQUIRE(build(request, bench.environment).has_value());
    CHECK(phases ==
          std::vector<std::string>{"planned", "based", "built", "packed", "signed", "named"});
    REQUIRE(values.size() == 6);
    CHECK(values[0]["stages"][0]["steps"][0]["name"] == "%files");
    CHECK(values[1]["stages"][0]["steps"].size() == values[0]["stages"][0]["steps"].size());
    CHECK(values[1]["image-key"].is_string());
    CHECK(values[2]["roots"].size() == 1);
    CHECK(values[3]["reused"] == false);
    CHECK(values[4]["signatures"] == 0);
    CHECK(values[5]["image"] == request.output.native());
    for (const std::string& line : bench.steps) { // none of them is a line for the user
        CHECK(line.find('{') == std::string::npos);
    }
    phases.clear();
    fs::remove(request.output);
    REQUIRE(build(request, bench.environment).has_value());
    CHECK(phases == std::vector<std::string>{"planned", "based", "packed", "signed", "named"});
}
