// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/facts.hpp"
#include "support/message.hpp"
#include "tests/unit/launchers/print_plan.hpp"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

namespace cybele::launchers {
namespace {

Job job_of(const std::string& fields) {
    auto job = read_job("kind: Job\nname: test\nimage: a.sif\ncommand: [app]\n" + fields, "j.yaml");
    if (!job) {
        FAIL(format_text(job.error().faults()));
    }
    return std::move(*job);
}

Site site_of(const std::string& fields) {
    auto site = read_site("kind: Site\nname: hall\nscheduler: slurm\n" + fields, "s.yaml");
    if (!site) {
        FAIL(format_text(site.error().faults()));
    }
    return std::move(*site);
}

images::ImageFacts facts_of(const std::string& mpi) {
    images::ImageFacts facts;
    facts.mpi = mpi;
    facts.mpi_probe = "/probe";
    return facts;
}

const PlaceTraits kSlurm{"slurm", true, false, true, true};
const PlaceTraits kTorque{"torque", false, true, true, false};
const PlaceTraits kLocal{"local", false, false, false, false};

/// The launcher's words, or the faults' messages.
std::string launcher_of(const std::string& job_fields,
                        const PlaceTraits& place,
                        const std::string& mpi = "openmpi 4.1.4",
                        const std::string& site_fields = "") {
    const Job job = job_of(job_fields);
    const Site site = site_of(site_fields);
    const images::ImageFacts facts = facts_of(mpi);
    Faults faults;
    const LaunchPlan plan =
        make_plan({&job, site_fields.empty() ? nullptr : &site, &facts, place}, faults);
    std::string text;
    if (faults.has_errors()) {
        for (const Fault& fault : faults.all()) {
            CHECK(fault.where.has_value());
            text += fault.is_warning ? "" : "refused: " + fault.message + "\n";
        }
        return text;
    }
    for (const auto& word : plan.launcher) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

struct PlanRow {
    const char* job;
    const PlaceTraits& place;
    const char* mpi;
    const char* site;
    const char* expected;
};

constexpr const char* kTwoByTwo =
    "resources: {nodes: 2, tasks-per-node: 2, cpus-per-task: 4}\nlaunch: ";

} // namespace

TEST_CASE("the launcher's words: mpirun of both families, srun, by image and Site") {
    const std::string pmix = "pmi: [pmix_v4, pmi2]\n";
    const std::array<PlanRow, 19> rows{{
        {"{kind: mpi, launcher: srun, pmi: default}",
         kSlurm,
         "mpich 4.0.2",
         "pmi: [pmix_v4]\n",
         "srun --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=4"},
        {"mpi",
         kSlurm,
         "openmpi 4.1.4",
         "",
         "mpirun -np 4 --map-by ppr:2:node:PE=4 --bind-to core"},
        {"mpi", kTorque, "openmpi 4.1.4", "", "mpirun -np 4 --map-by ppr:2:node --bind-to none"},
        {"{kind: mpi, binding: core}",
         kTorque,
         "openmpi 4.1.4",
         "",
         "mpirun -np 4 --map-by ppr:2:node:PE=4 --bind-to core"},
        {"{kind: mpi, oversubscribe: true}",
         kSlurm,
         "openmpi 4.1.4",
         "",
         "mpirun -np 4 --map-by ppr:2:node --bind-to none --oversubscribe"},
        {"{kind: mpi, oversubscribe: true}",
         kSlurm,
         "openmpi 5.0.7",
         "mpi: [{family: openmpi, version: 5.0.7}]\n",
         "mpirun -np 4 --map-by ppr:2:node:OVERSUBSCRIBE --bind-to none"},
        {"mpi",
         kSlurm,
         "mpich 4.0.2",
         "mpi: [{family: mpich, version: 4.0.2, prefix: /opt/m}]\n",
         "/opt/m/bin/mpirun -np 4 -ppn 2 -bind-to core:4"},
        {"mpi",
         kSlurm,
         "intel 2021.19",
         "mpi: [{family: intel, version: 2021.19}]\n",
         "mpirun -np 4 -ppn 2 -genv I_MPI_PIN_DOMAIN 4:compact"},
        {"mpi",
         kTorque,
         "intel 2021.19",
         "mpi: [{family: intel, version: 2021.19}]\n",
         "mpirun -np 4 -ppn 2 -genv I_MPI_PIN 0"},
        {"mpi",
         kSlurm,
         "openmpi 5.0.7",
         "pmi: [pmix_v4, pmi2]\n",
         "srun --mpi=pmix_v4 --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=4 "
         "--kill-on-bad-exit=1"},
        {"mpi",
         kSlurm,
         "mpich 4.0.2",
         "pmi: [pmix_v4, pmi2]\n",
         "srun --mpi=pmi2 --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=4 "
         "--kill-on-bad-exit=1"},
        {"{kind: mpi, launcher: hydra}", // of modules, whatever the Site has
         kSlurm,
         "mpich 4.0.2",
         "mpi: [{family: openmpi, version: 5.0.7, prefix: /opt/o}]\n",
         "mpirun -np 4 -ppn 2 -bind-to core:4"},
        {"{kind: mpi, launcher: hydra}",
         kTorque,
         "intel 2021.19",
         "mpi: [{family: intel, version: 2021.19, prefix: /opt/i}]\n",
         "/opt/i/bin/mpirun -np 4 -ppn 2 -genv I_MPI_PIN 0"},
        {"{kind: mpi, launcher: hydra}",
         kSlurm,
         "openmpi 5.0.7",
         "",
         "refused: mpirun of MPICH (hydra) with openmpi 5.0.7 in the image starts N jobs of one "
         "rank\n"},
        {"{kind: mpi, launcher: mpirun}",
         kSlurm,
         "openmpi 5.0.7",
         "pmi: [pmix_v4, pmi2]\n",
         "mpirun -np 4 --map-by ppr:2:node:PE=4 --bind-to core"},
        {"mpi",
         kSlurm,
         "openmpi 4.1.4",
         "pmi: [none]\n",
         "mpirun -np 4 --map-by ppr:2:node:PE=4 --bind-to core"},
        {"{kind: mpi, launcher: srun}",
         kSlurm,
         "openmpi 4.1.4",
         "pmi: [none]\n",
         "refused: the Site's srun does not offer that PMI\n"},
        {"{kind: mpi, launcher: srun}",
         kTorque,
         "openmpi 4.1.4",
         "",
         "refused: `srun` does not exist under torque\n"},
        {"{kind: mpi, launcher: srun, pmi: pmi2}",
         kSlurm,
         "openmpi 5.0.7",
         "pmi: [pmix_v4, pmi2]\n",
         "refused: srun with pmi2 with openmpi 5.0.7 in the image starts N jobs of one rank\n"},
    }};
    for (const PlanRow& row : rows) {
        CAPTURE(row.job);
        CAPTURE(row.site);
        CHECK(launcher_of(std::string(kTwoByTwo) + row.job + "\n", row.place, row.mpi, row.site) ==
              row.expected);
    }
}

TEST_CASE("never the default binding, never root by an option") {
    CHECK(launcher_of("launch: {kind: mpi, options: [--allow-run-as-root]}\n", kLocal) ==
          "refused: `--allow-run-as-root` cannot be an option\n");
    CHECK(launcher_of("launch: {kind: mpi, options: [--hostfile=x]}\n", kLocal) ==
          "refused: `--hostfile` cannot be an option\n");
    CHECK(launcher_of("launch: {kind: mpi, options: [--tag-output]}\n", kLocal) ==
          "mpirun -np 1 --map-by ppr:1:node --bind-to none --tag-output");
    CHECK(launcher_of("launch: mpi\n", kLocal, "mpich 4.0.2") ==
          "refused: mpirun of Open MPI with mpich 4.0.2 in the image starts N jobs of one rank\n");
}

TEST_CASE("Open MPI 6 gets the Site's network between nodes, else a note") {
    const Job job = job_of(std::string(kTwoByTwo) + "mpi\n");
    const images::ImageFacts facts = facts_of("openmpi 6.0.0rc2");
    Faults faults;
    (void)make_plan({&job, nullptr, &facts, kSlurm}, faults);
    REQUIRE(faults.all().size() == 1);
    CHECK(faults.all()[0].is_warning);
    const Site site = site_of("interconnect: {kind: ethernet, network: 10.0.0.0/24}\n");
    Faults none;
    const LaunchPlan plan = make_plan({&job, &site, &facts, kSlurm}, none);
    CHECK(none.empty());
    CHECK(print_plan(plan).find("variable: OMPI_MCA_btl_tcp_if_include=10.0.0.0/24\n") !=
          std::string::npos);
}

TEST_CASE("threads: one number everywhere, pinned only where the cores are the rank's own") {
    const auto text = [](const std::string& fields, const PlaceTraits& place) {
        const Job job = job_of(fields);
        Faults faults;
        std::string plan = print_plan(make_plan({&job, nullptr, nullptr, place}, faults));
        CHECK_FALSE(faults.has_errors());
        return plan;
    };
    const std::string openmp = text("launch: openmp\nresources: {cpus-per-task: 4}\n", kLocal);
    for (const char* name : {"OMP", "MKL", "OPENBLAS", "BLIS", "NUMEXPR"}) {
        CHECK(openmp.find("variable: " + std::string(name) + "_NUM_THREADS=4\n") !=
              std::string::npos);
    }
    const std::string pinned = "variable: OMP_PLACES=cores\nvariable: OMP_PROC_BIND=close\n";
    const std::string four = "launch: openmp\nresources: {cpus-per-task: 4}\n";
    CHECK(text(four, kSlurm).find(pinned) != std::string::npos);
    for (const PlaceTraits& shared : {kLocal, kTorque}) { // jobs of one node would share cores
        CHECK(text(four, shared).find("OMP_P") == std::string::npos);
        CHECK(text("launch: openmp\nresources: {cpus-per-task: 4, exclusive: true}\n", shared)
                  .find(pinned) != std::string::npos);
        CHECK(text("launch: {kind: openmp, bind: close}\n", shared).find(pinned) !=
              std::string::npos);
        CHECK(
            text("launch: mpi\nresources: {nodes: 2, cpus-per-task: 4}\n", shared).find("OMP_P") ==
            std::string::npos);
    }
    const std::string free =
        text("launch: {kind: openmp, bind: none}\nenvironment: {MKL_NUM_THREADS: '1'}\n", kLocal);
    CHECK(free.find("OMP_PLACES") == std::string::npos);
    CHECK(free.find("OMP_PROC_BIND=false") != std::string::npos);
    CHECK(free.find("variable: MKL_NUM_THREADS") == std::string::npos);
    CHECK(free.find("environment: MKL_NUM_THREADS=1\n") != std::string::npos);
    const std::string hybrid = std::string(kTwoByTwo) + "mpi\n";
    CHECK(text(hybrid, kSlurm).find("OMP_PLACES=cores") != std::string::npos);
    CHECK(text(hybrid, kTorque).find("OMP_PLACES") == std::string::npos);
    CHECK(text("launch: serial\n", kLocal).find("OMP_PLACES") == std::string::npos);
}

TEST_CASE("a single rank of a node that no other job shares has all its cores, whatever its "
          "launcher binds") {
    const auto pins = [](const std::string& resources, const PlaceTraits& place = kTorque) {
        const Job job = job_of("launch: mpi\nresources: " + resources + "\n");
        const images::ImageFacts facts = facts_of("openmpi 4.1.4");
        Faults faults;
        const LaunchPlan plan = make_plan({&job, nullptr, &facts, place}, faults);
        return std::any_of(plan.variables.begin(), plan.variables.end(), [](const auto& row) {
            return row.first == "OMP_PLACES";
        });
    };
    CHECK(pins("{nodes: 3, tasks-per-node: 1, cpus-per-task: 4, exclusive: true}"));
    CHECK_FALSE(pins("{nodes: 3, tasks-per-node: 1, cpus-per-task: 4}"));
    PlaceTraits shared = kSlurm; // whose srun binds nothing
    shared.binds_cores = false;
    CHECK(pins("{nodes: 3, tasks-per-node: 1, cpus-per-task: 4}", kSlurm));
    CHECK_FALSE(pins("{nodes: 3, tasks-per-node: 1, cpus-per-task: 4}", shared));
    CHECK_FALSE(pins("{nodes: 3, tasks-per-node: 2, cpus-per-task: 4}"));
}

TEST_CASE("memory of a core counts for each core of a node's tasks") {
    const Site site = site_of("queues:\n  - {name: batch, memory-per-node: 64 GiB}\n");
    for (const auto& [size, is_refused] : {std::pair("2 GiB", true), std::pair("1 GiB", false)}) {
        const Job job = job_of(
            "launch: mpi\nresources: {tasks-per-node: 5, cpus-per-task: 7, memory-per-cpu: " +
            std::string(size) + "}\n");
        Faults faults;
        (void)make_plan({&job, &site, nullptr, kSlurm}, faults);
        CHECK(faults.has_errors() == is_refused);
        CHECK(memory_of_node(job.resources) == (std::uint64_t{is_refused ? 70U : 35U} << 30U));
    }
}

TEST_CASE("binding and oversubscribing are said in the launcher's own words") {
    CHECK(launcher_of("launch: {kind: mpi, launcher: srun, binding: core}\n", kSlurm)
              .find("--cpu-bind=cores") != std::string::npos);
    CHECK(launcher_of("launch: {kind: mpi, launcher: srun, binding: none}\n", kSlurm)
              .find("--cpu-bind=none") != std::string::npos);
    const std::string shared =
        launcher_of("launch: {kind: mpi, launcher: srun, oversubscribe: true}\n", kSlurm);
    CHECK(shared.find("--cpu-bind=cores") == std::string::npos);
    const std::string crowded = "launch: {kind: mpi, launcher: mpirun, oversubscribe: true}\n";
    CHECK(
        launcher_of(crowded, kTorque, "openmpi 4.1.4", "mpi: [{family: openmpi, version: 4.1.4}]\n")
            .find("--oversubscribe") != std::string::npos);
    CHECK(
        launcher_of(crowded, kTorque, "openmpi 5.0.3", "mpi: [{family: openmpi, version: 5.0.3}]\n")
            .find(":OVERSUBSCRIBE") != std::string::npos);
}

TEST_CASE("threads of ranks that share cores are not pinned") {
    for (const bool is_crowded : {true, false}) {
        const Job job = job_of(std::string("launch: {kind: mpi, launcher: srun") +
                               (is_crowded ? ", oversubscribe: true" : "") +
                               "}\nresources: {tasks-per-node: 5, cpus-per-task: 3}\n");
        Faults faults;
        const LaunchPlan plan = make_plan({&job, nullptr, nullptr, kSlurm}, faults);
        const bool is_pinned =
            std::any_of(plan.variables.begin(), plan.variables.end(), [](const auto& variable) {
                return variable.first == "OMP_PROC_BIND" && variable.second == "close";
            });
        CHECK(is_pinned != is_crowded);
    }
}

TEST_CASE("Intel MPI's ranks have cores of their own where it pins them, and their threads too") {
    for (const bool is_exclusive : {true, false}) {
        const Job job = job_of(std::string("launch: mpi\nresources: {tasks-per-node: 5, "
                                           "cpus-per-task: 3") +
                               (is_exclusive ? ", exclusive: true}\n" : "}\n"));
        const Site site = site_of("mpi: [{family: intel, version: '2021.9'}]\n");
        const images::ImageFacts facts = facts_of("intel 2021.9");
        Faults faults;
        const LaunchPlan plan = make_plan({&job, &site, &facts, kTorque}, faults);
        const std::string text = print_plan(plan);
        CAPTURE(text);
        CHECK((text.find("I_MPI_PIN_DOMAIN") != std::string::npos) == is_exclusive);
        CHECK((text.find("OMP_PROC_BIND=close") != std::string::npos) == is_exclusive);
    }
}

TEST_CASE("ranks may copy between processes unless user namespaces of their own forbid it") {
    struct Row {
        const char* site;
        SingleCopy expected;
    };
    for (const Row& row : {Row{"", SingleCopy::kOffForUsers},
                           Row{"runtime: {program: apptainer, mode: userns}\n", SingleCopy::kOff},
                           Row{"runtime: {program: apptainer, mode: setuid}\n", SingleCopy::kOn}}) {
        CAPTURE(row.site);
        const Job job = job_of("launch: mpi\n");
        const Site site = site_of(row.site);
        Faults faults;
        CHECK(make_plan({&job, &site, nullptr, kSlurm}, faults).single_copy == row.expected);
    }
}

TEST_CASE("what a container runtime takes from the image is no variable of a Job") {
    for (const std::string name : {"HOME", "PATH", "LD_LIBRARY_PATH"}) {
        CAPTURE(name);
        const Job job = job_of("environment: {" + name + ": /x}\n");
        Faults faults;
        (void)make_plan({&job, nullptr, nullptr, kLocal}, faults);
        CHECK(faults.has_errors() == (name != "LD_LIBRARY_PATH"));
    }
}

TEST_CASE("a Job that lets ranks share cores says so where they have their own") {
    const auto notes = [](const std::string& launch, const PlaceTraits& place) {
        const Job job = job_of("launch: " + launch + "\n");
        const images::ImageFacts facts = facts_of("openmpi 4.1.4");
        Faults faults;
        (void)make_plan({&job, nullptr, &facts, place}, faults);
        CHECK_FALSE(faults.has_errors());
        return format_text(faults.all());
    };
    const std::string crowded = notes("{kind: mpi, oversubscribe: true}", kSlurm);
    CHECK(crowded.find("ranks may share cores in slurm, too") != std::string::npos);
    CHECK(crowded.find("j.yaml:5:") != std::string::npos);
    CHECK(notes("{kind: mpi, oversubscribe: true}", kLocal).empty());
    CHECK(notes("mpi", kSlurm).empty());
}

TEST_CASE("what cannot be guarded is told, and `guard: false` is silent") {
    const auto notes = [](const std::string& launch, const images::ImageFacts* facts) {
        const Job job = job_of("launch: " + launch + "\n");
        Faults faults;
        const LaunchPlan plan = make_plan({&job, nullptr, facts, kLocal}, faults);
        CHECK(plan.probe ==
              (faults.empty() && facts != nullptr && launch == "mpi" ? "/probe" : ""));
        CHECK_FALSE(faults.has_errors());
        return faults.all().size();
    };
    const images::ImageFacts good = facts_of("openmpi 4.1.4");
    images::ImageFacts bare = good;
    bare.mpi_probe.clear();
    CHECK(notes("mpi", &good) == 0);
    CHECK(notes("mpi", &bare) == 1);
    CHECK(notes("mpi", nullptr) == 1);
    CHECK(notes("{kind: mpi, guard: false}", &bare) == 0);
}

TEST_CASE("tasks that would never start are refused") {
    CHECK(launcher_of("resources: {tasks-per-node: 2}\n", kSlurm) ==
          "refused: `launch: serial` starts one process, but 2 tasks are requested\n");
    CHECK(launcher_of("launch: {kind: openmp, threads: 3}\nresources: {cpus-per-task: 2}\n",
                      kSlurm) == "refused: 3 threads do not fit on 2 CPUs per task\n");
}

TEST_CASE("modules of the Site's MPI are loaded after the Site's own, for ranks alone") {
    const Site site = site_of("modules: [slurm]\n"
                              "mpi:\n  - {family: openmpi, version: 4.1.4, modules: [gcc, ompi]}\n"
                              "  - {family: mpich, version: 4.0.2, modules: [mpich]}\n");
    using Modules = std::vector<std::string>;
    for (const auto& [kind, modules] : {std::pair("serial", Modules{"slurm"}),
                                        std::pair("openmp", Modules{"slurm"}),
                                        std::pair("torch", Modules{"slurm"}),
                                        std::pair("mpi", Modules{"slurm", "gcc", "ompi"}),
                                        std::pair("mpi-bind", Modules{"slurm", "gcc", "ompi"}),
                                        std::pair("horovod", Modules{"slurm", "gcc", "ompi"})}) {
        CAPTURE(kind);
        const Job job = job_of("launch: " + std::string(kind) + "\n");
        Faults faults;
        CHECK(make_plan({&job, &site, nullptr, kSlurm}, faults).modules == modules);
    }
}

} // namespace cybele::launchers
