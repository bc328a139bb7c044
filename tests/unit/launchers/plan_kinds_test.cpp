// SPDX-License-Identifier: Apache-2.0
// Launch kinds beside serial, openmp and mpi: torch, spark, mpi-bind, horovod, and jobs of the
// host.
#include "images/inspection/facts.hpp"
#include "support/message.hpp"
#include "tests/unit/launchers/print_plan.hpp"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

namespace cybele::launchers {
namespace {

const PlaceTraits kSlurmPlace{"slurm", true, false, true, true};

struct KindCase {
    std::string mpi;  ///< of the image's facts; empty: no facts
    std::string libc; ///< likewise
    std::string site; ///< fields of a Site; empty: none
    std::string image = "image: a.sif\n";
};

/// The plan's lines, or each refusal with the field that it stands at.
std::string plan_of(const std::string& fields, const KindCase& with = {}) {
    auto job = read_job("kind: Job\nname: test\n" + with.image + fields, "j.yaml");
    if (!job) {
        return "unread: " + job.error().faults().front().message + "\n";
    }
    auto site = read_site("kind: Site\nname: hall\nscheduler: slurm\n" + with.site, "s.yaml");
    REQUIRE_MESSAGE(site.has_value(), site.error().message());
    images::ImageFacts facts;
    facts.mpi = with.mpi;
    facts.libc = with.libc;
    facts.mpi_probe = "/probe";
    Faults faults;
    const LaunchPlan plan = make_plan({&*job,
                                       with.site.empty() ? nullptr : &*site,
                                       with.mpi.empty() ? nullptr : &facts,
                                       kSlurmPlace},
                                      faults);
    if (!faults.has_errors()) {
        return print_plan(plan);
    }
    std::string text;
    for (const Fault& fault : faults.all()) {
        CHECK(fault.where.has_value());
        CHECK_FALSE(fault.help.empty());
        text += fault.is_warning ? "" : fault.message + "\n";
    }
    return text;
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE(
    "a launcher is not a program of the tasks that a launch starts; one process may call it") {
    for (const auto& [kind, program] : {std::pair("mpi", "mpirun"),
                                        std::pair("mpi", "/opt/mpi/bin/mpiexec"),
                                        std::pair("mpi-bind", "srun"),
                                        std::pair("horovod", "horovodrun"),
                                        std::pair("torch", "torchrun"),
                                        std::pair("spark", "spark-submit")}) {
        const std::string text =
            plan_of("launch: " + std::string(kind) + "\ncommand: [" + program + ", ./solver]\n");
        CHECK_MESSAGE(holds(text, "starts what `launch: " + std::string(kind) + "` starts already"),
                      text);
    }
    CHECK_FALSE(holds(plan_of("command: [mpirun, -np, '2', ./solver]\n"), "starts already"));
    CHECK_FALSE(holds(plan_of("launch: mpi\ncommand: [./srun-report]\n"), "starts already"));
    for (const char* kind : {"serial", "openmp"}) {
        CHECK_FALSE(
            holds(plan_of("launch: " + std::string(kind) + "\ncommand: [mpirun, ./solver]\n"),
                  "starts already"));
    }
}

TEST_CASE(
    "torch: one torchrun a node, processes from the GPUs or the Job, threads by the process") {
    const std::string two =
        plan_of("command: [train.py]\nlaunch: {kind: torch, processes-per-node: 2}\n"
                "resources: {nodes: 2, cpus-per-task: 8}\n");
    CHECK(holds(two, "ranks: 2\n"));
    CHECK(holds(two, "processes-per-node: 2\n"));
    CHECK(holds(two, "variable: OMP_NUM_THREADS=4\n"));
    CHECK(holds(two, "launcher: none\n"));
    CHECK(holds(plan_of("command: [train.py]\nlaunch: torch\n"
                        "resources: {gpus-per-node: 4, cpus-per-task: 4}\n"),
                "processes-per-node: 4\n"));
    CHECK(plan_of("command: [train.py]\nlaunch: torch\n"
                  "resources: {gpus-per-node: 4, cpus-per-task: 2}\n") ==
          "4 processes per node do not fit on 2 CPUs\n");
    CHECK(plan_of("command: [t.py]\nlaunch: torch\nresources: {tasks-per-node: 2}\n") ==
          "launch `torch` is one task per node, but 2 are requested\n");
    CHECK(plan_of("command: [t.py]\nlaunch: torch\nresources: {nodes: 2, tasks: 1}\n") ==
          "launch `torch` is one task per node\n");
    CHECK(plan_of("launch: torch\n") == "launch `torch` without a program\n");
    CHECK(plan_of("command: [t.py]\nlaunch: {kind: torch, processes-per-node: 2, threads: 3}\n"
                  "resources: {cpus-per-task: 4}\n") ==
          "3 threads do not fit on 2 CPUs per process\n");
}

TEST_CASE("serial: a sweep has one process an element, unless its rows are packed") {
    const std::string head = "command: [p, '@{lr}']\nlaunch: serial\n";
    CHECK(plan_of(head + "resources: {tasks-per-node: 2}\nsweep: {lr: [a, b]}\n") ==
          "`launch: serial` starts one process, but 2 tasks are requested\n");
    CHECK_FALSE(holds(plan_of(head + "sweep: {lr: [a, b], pack: 2}\n"), "starts one process"));
    for (const auto& [resources, field] :
         {std::pair("{nodes: 2}", "resources.nodes"),
          std::pair("{tasks-per-node: 2}", "resources.tasks-per-node"),
          std::pair("{nodes: 2, tasks-per-node: 2}", "resources.nodes")}) {
        const auto job = read_job(std::string("kind: Job\nname: t\ncommand: [p]\nresources: ") +
                                      resources + "\n",
                                  "j.yaml");
        REQUIRE(job);
        Faults faults;
        (void)make_plan({&*job, nullptr, nullptr, kSlurmPlace}, faults);
        CHECK(faults.all().front().where->column ==
              job->fault_at(field, problem("t", "x"), "", "").where->column);
    }
}

TEST_CASE("spark: workers, executors and driver take together no more than is allotted") {
    struct Row {
        std::uint32_t cores;
        std::uint64_t memory_mib;
        const char* launch;
    };
    constexpr std::array<Row, 6> kRows{{{1, 4096, "spark"},
                                        {4, 4096, "spark"},
                                        {8, 16384, "{kind: spark, executor-cores: 2}"},
                                        {48, 196608, "{kind: spark, driver-memory: 8 GiB}"},
                                        {4, 8192, "{kind: spark, worker-cores: 2}"},
                                        {4, 8192, "{kind: spark, worker-memory: 3 GiB}"}}};
    for (const Row& row : kRows) {
        CAPTURE(row.launch);
        auto job =
            read_job("kind: Job\nname: s\nimage: a.sif\ncommand: [a.py]\nlaunch: " +
                         std::string(row.launch) +
                         "\nresources: {nodes: 2, cpus-per-task: " + std::to_string(row.cores) +
                         ", memory-per-node: " + std::to_string(row.memory_mib) + " MiB}\n",
                     "j.yaml");
        REQUIRE(job.has_value());
        Faults faults;
        const LaunchPlan plan = make_plan({&*job, nullptr, nullptr, kSlurmPlace}, faults);
        REQUIRE_FALSE(faults.has_errors());
        REQUIRE(plan.spark.has_value());
        const SparkPlan& spark = *plan.spark;
        CHECK(spark.worker_mib + 2 * spark.daemon_mib + spark.driver_mib + 384 <= row.memory_mib);
        const std::uint64_t executors =
            spark.executor_cores == 0 ? 1 : spark.worker_cores / spark.executor_cores;
        CHECK(executors * (spark.executor_mib + 384) <= spark.worker_mib);
        CHECK(spark.executor_mib >= 450);
        CHECK(spark.worker_cores <= row.cores);
        CHECK(spark.first_worker_cores >= 1);
        CHECK((job->launch.worker_cores || row.cores == 1 || spark.first_worker_cores < row.cores));
        CHECK(plan.threads == 1);
    }
}

TEST_CASE("spark: what cannot be is refused at its field") {
    const std::string head =
        "command: [a.py]\nresources: {cpus-per-task: 4, memory-per-node: 8 GiB}\n";
    CHECK(plan_of("command: [a.py]\nlaunch: spark\n") ==
          "how much memory Spark's workers have is not known\n");
    CHECK(plan_of("launch: spark\nresources: {memory-per-node: 8 GiB}\n") ==
          "launch `spark` without an application\n");
    CHECK(holds(plan_of("command: [a.py]\nlaunch: spark\nresources: {memory-per-node: 2 GiB}\n"),
                "are left for each of Spark's executors\n"));
    CHECK(plan_of(head + "launch: {kind: spark, worker-memory: 8 GiB}\n") ==
          "workers of 8 GiB do not fit in 8 GiB a node\n");
    CHECK(plan_of(head + "launch: {kind: spark, worker-cores: 5}\n") ==
          "workers of 5 cores do not fit on 4 CPUs per node\n");
    CHECK(plan_of(head + "launch: {kind: spark, executor-cores: 4}\n") ==
          "executors of 4 cores do not fit in a worker of 3\n");
    CHECK(holds(plan_of(head + "launch: {kind: spark, executor-cores: 3}\n"),
                "first-worker-cores: 3\n"));
    CHECK(holds(plan_of(head + "launch: {kind: spark, worker-cores: 0}\n"), "unread: "));
    for (const char* name : {"spark.authenticate",
                             "spark.authenticate.secret",
                             "spark.master",
                             "spark.driver.memory",
                             "spark.local.dir",
                             "spark.eventLog",
                             "spark.eventLog.dir"}) {
        CHECK(plan_of(head + "launch: {kind: spark, properties: {" + name + ": x}}\n") ==
              "`" + std::string(name) + "` is set by the launch\n");
    }
    CHECK(plan_of(head + "launch: {kind: spark, properties: {javax.x: x}}\n") ==
          "'javax.x' is not a property of Spark\n");
    CHECK(holds(plan_of(head + "launch: {kind: spark, properties: {spark.sql.x: 'a b'}}\n"),
                "worker-cores: 4\nfirst-worker-cores: 3\n"));
    CHECK(holds(plan_of(head + "launch: {kind: spark, properties: {spark.masters: x}}\n"),
                "worker-cores: 4\n"));
}

TEST_CASE("mpi-bind: the host's MPI must be of the same library and of no newer C library") {
    const std::string job = "command: [app]\nlaunch: mpi-bind\nresources: {tasks-per-node: 2}\n";
    const std::string site = "node: {glibc: '2.36'}\nmpi: [{family: openmpi, version: 4.1.4, "
                             "prefix: /opt/openmpi}]\n";
    CHECK(holds(plan_of(job, {"openmpi 5.0.7", "glibc 2.41", site}), "bound-mpi: /opt/openmpi\n"));
    CHECK(holds(plan_of(job, {"openmpi 4.1.0", "glibc 2.31", site}), "aborts\n"));
    CHECK(holds(plan_of(job, {"mpich 4.0.2", "glibc 2.41", site}), "aborts\n"));
    CHECK(holds(plan_of(job, {"openmpi 4.1.4", "musl 1.2.5", site}), "aborts\n"));
    CHECK(holds(plan_of(job), "bound-mpi: found by the script\n"));
    CHECK(holds(plan_of("command: [app]\nlaunch: {kind: mpi-bind, host-mpi: /opt/x}\n"),
                "bound-mpi: /opt/x\n"));
    CHECK(holds(plan_of(job, {"", "", "", ""}), "launch `mpi-bind` without an image\n"));
}

TEST_CASE("horovod is started as ranks are, and keeps a core for its own thread") {
    const std::string one =
        plan_of("command: [app]\nlaunch: horovod\nresources: {tasks-per-node: 2}\n",
                {"openmpi 4.1.4", "", ""});
    CHECK(holds(one, "launcher: mpirun -np 2 --map-by ppr:2:node --bind-to none\n"));
    CHECK(holds(one, "variable: HOROVOD_CONTROLLER=mpi\n"));
    CHECK(holds(one, "guard: /probe\n"));
    CHECK(holds(plan_of("command: [app]\nlaunch: horovod\nresources: {cpus-per-task: 2}\n",
                        {"openmpi 4.1.4", "", ""}),
                "--bind-to core\n"));
}

TEST_CASE("an image without MPI, or of another architecture, is refused") {
    auto job =
        read_job("kind: Job\nname: t\nimage: a.sif\ncommand: [app]\nlaunch: mpi\n", "j.yaml");
    auto site =
        read_site("kind: Site\nname: hall\nscheduler: slurm\nnode: {arch: arm64}\n", "s.yaml");
    REQUIRE(job.has_value());
    REQUIRE(site.has_value());
    images::ImageFacts facts;
    facts.labels["cybelectl.recipe"] = "sha256:0";
    facts.architecture = "amd64";
    Faults faults;
    (void)make_plan({&*job, &*site, &facts, kSlurmPlace}, faults);
    std::string text;
    for (const Fault& fault : faults.all()) {
        text += fault.is_warning ? "" : fault.message + "\n";
    }
    CHECK(text == "the image is made for amd64\nthe image has no MPI\n");
    CHECK(faults.all().front().help.find("cybelectl image pull --arch arm64") != std::string::npos);
    facts.labels.clear(); // a foreign image says nothing
    facts.architecture = "arm64";
    Faults none;
    (void)make_plan({&*job, &*site, &facts, kSlurmPlace}, none);
    CHECK_FALSE(none.has_errors());
}

TEST_CASE(
    "without the image a job cannot be guarded, and the help fits an image that is elsewhere") {
    auto job =
        read_job("kind: Job\nname: t\nimage: a.sif\ncommand: [app]\nlaunch: mpi\n", "j.yaml");
    REQUIRE(job.has_value());
    const auto help_of = [&](const images::ImageFacts* facts) {
        Faults faults;
        (void)make_plan({&*job, nullptr, facts, kSlurmPlace}, faults);
        const std::string guard = "cannot check that the ranks will find each other";
        const auto all = faults.all();
        const auto found = std::find_if(
            all.begin(), all.end(), [&](const Fault& fault) { return fault.message == guard; });
        return found == all.end() ? std::string() : found->help;
    };
    CHECK(help_of(nullptr) ==
          "render where the image is, or name its Recipe (`image: {recipe: FILE}`)");
    const images::ImageFacts without_probe;
    CHECK(help_of(&without_probe) == "build the image from a Recipe with `mpi`");
}

TEST_CASE("a job of the host has no binds, and an MPI program of its own is started alike") {
    const KindCase host{"", "", "", ""};
    CHECK(plan_of("command: [app]\nbinds: [/data]\n", host) == "`binds` without an image\n");
    CHECK(holds(plan_of("command: [app]\nlaunch: mpi\nresources: {tasks-per-node: 2}\n", host),
                "launcher: mpirun -np 2 "));
    CHECK(holds(plan_of("command: [t.py]\nlaunch: torch\n", host), "processes-per-node: 1\n"));
}

} // namespace cybele::launchers
