// SPDX-License-Identifier: Apache-2.0
// Every key of the grammar's headers has its effect with every agent that is built here, or is
// refused, or a warning says that it has none.
#include "bench.hpp"
#include "builder/bases/bootstrap.hpp"
#include "builder/bases/header.hpp"
#include "builder/pack/plan.hpp"
#include "definitions/grammar/grammar.hpp"

#include <map>
#include <set>

using namespace cybele;
using namespace cybele::builder;

namespace {

/// The least header of each agent.
const std::map<std::string, std::string> kHeaders = {
    {"busybox", "MirrorURL: http://mirror.example/busybox\n"},
    {"debootstrap", "OSVersion: bookworm\nMirrorURL: http://mirror.example/debian\n"},
    {"docker", "From: registry.example/app:1\n"},
    {"docker-archive", "From: a.tar\n"},
    {"library", "From: centre/app:1\n"},
    {"localimage", "From: base.sif\n"},
    {"oci", "From: layout:1\n"},
    {"oci-archive", "From: a.tar:1\n"},
    {"oras", "From: registry.example/app:1\n"},
    {"scratch", ""},
    {"dnf", "OSVersion: 1\nMirrorURL: http://mirror.example/one\n"},
    {"yum", "OSVersion: 1\nMirrorURL: http://mirror.example/one\n"},
    {"zypper", "OSVersion: 1\nMirrorURL: http://mirror.example/one\n"},
};
/// Made by a tool that this machine may lack, which is told after the header was read.
const std::set<std::string> kByTools = {"dnf", "yum", "zypper"};

/// Where the effect of what an agent reads is shown; those of this file by their case.
const std::map<std::string, std::string> kShown = {
    {"bootstrap", "agents of the table"},
    {"stage", "tests/unit/builder/build_test.cpp: stages"},
    {"from", "tests/cli/build.bats, tests/integration/oci_bases.bats"},
    {"includecmd", "CMD is always taken over: tests/integration/oci_bases.bats"},
    {"mirrorurl", "here"},
    {"updateurl", "tests/integration/made_bases.bats"},
    {"osversion", "here"},
    {"include", "here"},
    {"library", "tests/integration/library.bats"},
    {"registry", "here"},
    {"namespace", "here"},
    {"fingerprints", "tests/cli/attacks_builds.bats"},
    {"setopt", "tests/integration/made_bases.bats"},
};
/// What no agent of ours obeys: each is refused with the agents that read it.
const std::set<std::string> kRefused = {
    "product", "user", "regcode", "productpgp", "registerurl", "modules", "confurl"};
/// Refused by the parser: newer than Apptainer.
const std::set<std::string> kUnknown = {"target", "frontend", "filename", "buildargs"};
/// Refused with an agent that cannot obey them.
const std::set<std::string> kDeciding = {"fingerprints", "registry", "namespace"};

struct Planned {
    bool is_planned = false;
    std::string said;
};

Planned plan_with(Bench& bench, const std::string& agent, const std::string& line) {
    const std::string text = "Bootstrap: " + agent + "\n" + kHeaders.at(agent) + line;
    auto parsed = definitions::read_definition(text, "a.def", {});
    if (!parsed.refusals.empty()) {
        return {false, parsed.refusals.front().fault.message};
    }
    auto request = bench.request(kBase);
    request.source.definition = std::move(parsed.definition);
    Planned outcome;
    request.reporter.on_step = [&](const std::string& said) { outcome.said += said + "\n"; };
    const auto plan = make_plan(request, bench.environment);
    outcome.is_planned = plan.has_value();
    for (const Fault& fault : plan ? std::vector<Fault>() : plan.error().faults()) {
        outcome.said += fault.message + "\n";
    }
    const bool lacks_tool = outcome.said.find("installed\n") != std::string::npos;
    outcome.is_planned = outcome.is_planned || (kByTools.contains(agent) && lacks_tool);
    return outcome;
}

definitions::Stage stage_of(const std::string& text) {
    auto parsed = definitions::read_definition(text, "a.def", {});
    REQUIRE(parsed.refusals.empty());
    return parsed.definition.stages.front();
}

} // namespace

TEST_CASE("each header key has an effect, is refused, or a warning says that it has none") {
    Bench bench;
    put(bench.here / "base.sif", "");
    for (const definitions::HeaderKey& key : definitions::header_keys()) {
        const std::string name(key.key);
        CAPTURE(name);
        CHECK(int{kShown.contains(name)} + int{kRefused.contains(name)} +
                  int{kUnknown.contains(name)} ==
              1);
        for (const auto& [agent, header] : kHeaders) {
            CAPTURE(agent);
            if (name == "bootstrap" || definitions::lower(header).find(name + ":") == 0) {
                continue; // it stands there already
            }
            const Planned outcome = plan_with(
                bench, agent, std::string(key.spelling) + ": " + std::string(40, 'A') + "\n");
            const bool is_told = outcome.said.find("has no effect") != std::string::npos;
            const bool is_read = definitions::agent_reads(agent, name);
            const bool is_refused = kUnknown.contains(name) ||
                                    (kRefused.contains(name) && kByTools.contains(agent)) ||
                                    (kDeciding.contains(name) && !is_read);
            CHECK(outcome.is_planned != is_refused);
            CHECK((is_told || is_refused || is_read));
            CHECK_FALSE((is_told && is_read));
            if (is_told) {
                CHECK(outcome.said.find(key.spelling) != std::string::npos);
            }
        }
    }
    const Planned numbered = plan_with(bench, "docker", "OtherURL1: http://x.example\n");
    CHECK(numbered.said.find("'OtherURL1' has no effect") != std::string::npos);
}

TEST_CASE("what no agent of ours obeys is refused by those that Apptainer has read it") {
    Bench bench;
    for (const std::string& name : kRefused) {
        CAPTURE(name);
        const std::string agent = definitions::agent_reads("zypper", name) ? "zypper" : "arch";
        auto parsed = definitions::read_definition(
            "Bootstrap: " + agent + "\nMirrorURL: http://x.example\n" + name + ": x\n",
            "a.def",
            {});
        REQUIRE(parsed.refusals.empty());
        auto request = bench.request(kBase);
        request.source.definition = std::move(parsed.definition);
        const auto plan = make_plan(request, bench.environment);
        REQUIRE_FALSE(plan);
        CHECK(plan.error().faults().front().message.find("is not supported yet") !=
              std::string::npos);
    }
}

TEST_CASE("Registry and Namespace come before From, of docker alone") {
    const auto image = [](const std::string& lines) {
        return base_image(stage_of("Bootstrap: docker\nFrom: app:1\n" + lines));
    };
    CHECK(image("") == "app:1");
    CHECK(image("Registry: localhost:5005\n") == "localhost:5005/app:1");
    CHECK(image("Namespace: group/sub\n") == "group/sub/app:1");
    CHECK(image("Namespace: group\nRegistry: r.example/\n") == "r.example/group/app:1");
    CHECK(base_image(stage_of("Bootstrap: oras\nFrom: r.example/a\nRegistry: x\n")) ==
          "r.example/a");
}

TEST_CASE("MirrorURL, OSVersion and Include make the base of debootstrap") {
    Bench bench;
    const auto base = debian_base(stage_of("Bootstrap: debootstrap\nOSVersion: trixie\nMirrorURL: "
                                           "http://m.example/%{OSVERSION}\nInclude: jq curl\n"),
                                  bench.request(kBase));
    REQUIRE(base);
    CHECK(base->suite == "trixie");
    CHECK(base->mirror == "http://m.example/trixie");
    CHECK(base->include == "jq,curl");
}

TEST_CASE("fingerprints are 40 digits each, as people write them") {
    const std::string one = "8C10B2D64F6B3D1A5E0C97A2F4D7716E2B9A3C55";
    const auto read = [](const std::string& value) {
        return base_signers(
            stage_of("Bootstrap: localimage\nFrom: b.sif\nFingerprints: " + value + "\n"), "a.def");
    };
    CHECK(read("").value().empty());
    CHECK(read("0x" + definitions::lower(one) + " , " + one).value() ==
          std::vector<std::string>{one, one});
    for (const char* wrong : {"x", "8C10B2D64F6B3D1A", "SHA256:abc"}) {
        const auto refused = read(one + "," + wrong);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().faults().front().where->line == 3);
    }
}
