// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/facts.hpp"
#include "support/message.hpp"
#include "tests/unit/launchers/print_plan.hpp"

#include <array>

#include <doctest/doctest.h>

namespace cybele::launchers {
namespace {

struct VerdictCase {
    const char* mpi;
    const char* pmi;
    const char* architecture;
    const char* site;
    const char* verdict; ///< how it begins
    const char* refusal; ///< empty: none
};
constexpr std::array kCases{
    VerdictCase{"openmpi 4.1.4",
                "pmix 4.2.2",
                "amd64",
                "mpi: [{family: openmpi, version: 4.1.4}]\n",
                "works (seen)",
                ""},
    VerdictCase{"openmpi 4.1.4",
                "pmix 4.2.2",
                "amd64",
                "node: {arch: arm64}\n",
                "aborts (documented)",
                "another architecture"},
    VerdictCase{
        "openmpi 5.0.7", "pmix 5.0.7", "", "pmi: [pmix_v3, none]\n", "unknown (documented)", ""},
    VerdictCase{"openmpi 4.1.8",
                "pmix 3.2.5 pmi2",
                "",
                "pmi: [pmi2]\nmpi: [{family: mpich, version: 4.0}]\n",
                "starts N jobs of one rank",
                "hydra offers PMI-1/2 only"},
    VerdictCase{"mpich 4.3.2",
                "pmix 4.2.9",
                "",
                "mpi: [{family: mpich, version: 4.0.2}]\n",
                "starts N jobs of one rank",
                "built for PMIx alone"},
};

} // namespace

TEST_CASE("a launch is judged by the image's labels and the Site, and the plan says how") {
    for (const VerdictCase& one : kCases) {
        CAPTURE(one.mpi);
        CAPTURE(one.site);
        const auto job = read_job("kind: Job\nname: a\nimage: a.sif\ncommand: [b]\nlaunch: mpi\n"
                                  "resources: {tasks-per-node: 2}\n",
                                  "j.yaml");
        const auto site = read_site(
            "kind: Site\nname: hall\nscheduler: slurm\n" + std::string(one.site), "s.yaml");
        REQUIRE(job.has_value());
        REQUIRE(site.has_value());
        images::ImageFacts facts;
        facts.mpi = one.mpi;
        facts.pmi = one.pmi;
        facts.architecture = one.architecture;
        facts.mpi_probe = "/probe";
        Faults faults;
        const LaunchPlan plan =
            make_plan({&*job, &*site, &facts, {"slurm", true, false, true, true}}, faults);
        CHECK_MESSAGE(plan.verdict.starts_with(one.verdict), plan.verdict);
        CHECK(print_plan(plan).find("verdict: " + plan.verdict + "\n") != std::string::npos);
        const std::string told = format_text(faults.all());
        const std::string refusal = one.refusal;
        CHECK(faults.has_errors() == !refusal.empty());
        CHECK_MESSAGE(told.find(refusal) != std::string::npos, told);
    }
}

} // namespace cybele::launchers
