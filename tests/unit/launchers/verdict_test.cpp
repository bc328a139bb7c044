// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/facts.hpp"
#include "launchers/plan/verdict.hpp"
#include "support/message.hpp"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

namespace cybele::launchers {
namespace {

struct VerdictRow {
    const char* launch;
    const char* image_mpi; ///< empty: no label
    const char* probe;
    const char* site;
    Confidence confidence;
    const char* rule; ///< of the worst; empty: none
};

LaunchVerdict verdict_of(const VerdictRow& row, const char* nodes = "1") {
    auto job = read_job(
        "kind: Job\nname: t\nimage: a.sif\ncommand: [app]\nlaunch: " + std::string(row.launch) +
            "\nresources: {nodes: " + nodes + ", tasks-per-node: 2}\n",
        "j.yaml");
    REQUIRE_MESSAGE(job.has_value(), format_text(job.error().faults()));
    auto site =
        read_site("kind: Site\nname: hall\nscheduler: {dialect: slurm, version: 22.05.8}\n" +
                      std::string(row.site),
                  "s.yaml");
    REQUIRE(site.has_value());
    images::ImageFacts facts;
    facts.mpi = row.image_mpi;
    facts.mpi_probe = row.probe;
    const PlanInput input{&*job, &*site, &facts, {"slurm", true, false, true, true}};
    Faults faults;
    const LaunchPlan plan = make_plan(input, faults);
    return judge_launch(input, plan);
}

} // namespace

TEST_CASE("the verdict's words, and the rule that it stands on") {
    const char* const host = "pmi: [none, pmi2, pmix]\nmpi: [{family: openmpi, version: 4.1.4}]\n";
    const char* const userns = "mpi: [{family: openmpi, version: 4.1.4}]\n"
                               "runtime: {program: apptainer, version: 1.4.5, mode: userns}\n";
    const std::array<VerdictRow, 8> rows{{
        {"mpi", "openmpi 4.1.4", "/p", host, Confidence::kWorks, "pair/openmpi-pmix"},
        {"{kind: mpi, launcher: mpirun}",
         "openmpi 4.1.4",
         "/p",
         userns,
         Confidence::kWorksWithOptions,
         "circumstance/openmpi-4-user"},
        {"{kind: mpi, pmi: pmi2}",
         "openmpi 4.1.4",
         "/p",
         host,
         Confidence::kAborts,
         "pair/openmpi-4-pmi2"},
        {"{kind: mpi, pmi: pmi2}",
         "openmpi 5.0.7",
         "/p",
         host,
         Confidence::kSingletons,
         "pair/openmpi-5-pmi2"},
        {"{kind: mpi, launcher: mpirun}", "mpich 4.0.2", "/p", host, Confidence::kSingletons, ""},
        {"mpi", "", "/p", host, Confidence::kGuarded, ""},
        {"mpi", "", "", host, Confidence::kUnguarded, ""},
        {"{kind: mpi, guard: false}", "", "/p", host, Confidence::kUnguarded, ""},
    }};
    for (const VerdictRow& row : rows) {
        CAPTURE(row.launch);
        CAPTURE(row.image_mpi);
        const LaunchVerdict verdict = verdict_of(row);
        CHECK(sureness_text(verdict.confidence) == sureness_text(row.confidence));
        const std::string text = print_verdict(verdict);
        CHECK(text.find(std::string("verdict: ") + std::string(sureness_text(row.confidence))) !=
              std::string::npos);
        if (row.rule[0] != '\0') {
            CHECK(verdict.judgement.worst().id == row.rule);
            CHECK(text.find(row.rule) != std::string::npos);
        }
    }
}

TEST_CASE("Apptainer in a user namespace is a circumstance of its own, our runtime there is not") {
    for (const std::string program : {"apptainer", "cybelectl"}) {
        const std::string site = "pmi: [pmi2]\nruntime: {program: " + program + ", mode: userns}\n";
        const LaunchVerdict verdict = verdict_of({"{kind: mpi, launcher: srun, pmi: pmi2}",
                                                  "mpich 4.0.2",
                                                  "/p",
                                                  site.c_str(),
                                                  Confidence::kGuarded,
                                                  ""});
        const auto& rules = verdict.judgement.rules;
        const bool is_told = std::any_of(rules.begin(), rules.end(), [](const auto* rule) {
            return rule->id == "circumstance/apptainer-pmi2";
        });
        CHECK(is_told == (program == "apptainer"));
    }
}

TEST_CASE("what is known of host and image is told, and what makes it work") {
    const VerdictRow row{
        "{kind: mpi, launcher: mpirun}",
        "openmpi 6.0.0rc2",
        "/p",
        "mpi: [{family: openmpi, version: 4.1.4}]\ninterconnect: {network: 10.0.0.0/24}\n",
        Confidence::kWorksWithOptions,
        ""};
    const std::string text = print_verdict(verdict_of(row, "2"));
    CHECK(text.starts_with("launch:  mpi, 4 ranks on 2 nodes by mpirun of Open MPI\n"
                           "host:    openmpi 4.1.4, slurm 22.05.8\nimage:   openmpi 6.0.0rc2\n"
                           "guard:   asks /p in the image before the program starts\n"
                           "verdict: works with options\n"
                           "  option OMPI_MCA_btl_tcp_if_include="));
}

TEST_CASE("a script that calls a launcher itself is not checked, and one with the guard says so") {
    struct Row {
        const char* launch;
        const char* script;
        Confidence confidence;
        const char* launch_line; ///< a part
        const char* guard;       ///< a part
    };
    const std::array<Row, 9> rows{{
        {"batch", "srun ./a", Confidence::kNotChecked, "`srun` in the script", "does not check"},
        {"batch", "/opt/mpi/bin/mpirun -n 4 ./a", Confidence::kNotChecked, "`mpirun`", "not check"},
        {"batch", "[ $# -gt 1 ] && mpiexec.hydra ./a", Confidence::kNotChecked, "hydra`", "find"},
        {"batch", "RUN=srun; $RUN ./a", Confidence::kNotChecked, "`srun`", "does not check"},
        {"batch",
         "\"$CYBELE_GUARD\" srun && srun ./a",
         Confidence::kNotChecked,
         "`srun`",
         "calls $CYBELE_GUARD itself"},
        {"serial", "orterun ./a", Confidence::kNotChecked, "serial on 1 node; `orterun`", "find"},
        {"batch", "./a # srun ./b", Confidence::kWorks, "no MPI launcher", "names nothing"},
        {"batch", "./my-srun ./b", Confidence::kWorks, "no MPI launcher", "names nothing"},
        {"serial", "./a", Confidence::kWorks, "without MPI", "no ranks have to"},
    }};
    for (const Row& row : rows) {
        CAPTURE(row.script);
        auto job = read_job("kind: Job\nname: t\nlaunch: " + std::string(row.launch) +
                                "\nscript: |\n  " + row.script + "\n",
                            "j.yaml");
        REQUIRE_MESSAGE(job.has_value(), format_text(job.error().faults()));
        const PlanInput input{&*job, nullptr, nullptr, {"slurm", true, false, true, true}};
        Faults faults;
        const LaunchVerdict verdict = judge_launch(input, make_plan(input, faults));
        CHECK(sureness_text(verdict.confidence) == sureness_text(row.confidence));
        CHECK(verdict.launch.find(row.launch_line) != std::string::npos);
        CHECK(verdict.guard.find(row.guard) != std::string::npos);
        const bool claims_no_mpi = verdict.launch.find("without MPI") != std::string::npos;
        CHECK(claims_no_mpi == (std::string_view(row.launch_line) == "without MPI"));
    }
}

} // namespace cybele::launchers
