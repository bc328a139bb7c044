// SPDX-License-Identifier: Apache-2.0
// What a Job asks of this machine, and what of it is refused at once because it could never start.
#include "submission/local/demand.hpp"
#include "submission/submit/places.hpp"
#include "support/file.hpp"
#include "support/machine.hpp"

#include <string>

#include <doctest/doctest.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

struct DemandBench {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    Environment environment{
        EnvironmentMap{{"CYBELE_STATE_DIR", (directory.path() / "state").native()}}};

    [[nodiscard]] launchers::Job job(const std::string& fields) const {
        auto read =
            launchers::read_job("kind: Job\nname: run\n" + fields, directory.path() / "job.yaml");
        REQUIRE_MESSAGE(read.has_value(), read.error().message());
        return *read;
    }
    /// "machine-cores:5 ": the faults with their lines; empty: none.
    [[nodiscard]] static std::string ids(const Result<void>& done) {
        std::string text;
        if (!done) {
            for (const Fault& fault : done.error().faults()) {
                text += fault.id + ":" + std::to_string(fault.where.value().line) + " ";
            }
        }
        return text;
    }
    [[nodiscard]] std::string local(const std::string& fields) const {
        return ids(check_local(job(fields), environment));
    }
    [[nodiscard]] std::string help(const std::string& fields) const {
        const auto done = check_local(job(fields), environment);
        REQUIRE_FALSE(done.has_value());
        return done.error().faults().front().help;
    }
};

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20U;

} // namespace

TEST_CASE("demand: cores are tasks times CPUs, memory is the larger of both kinds") {
    const DemandBench bench;
    const std::string command = "command: [x]\n";
    const auto demand = [&](const std::string& fields) { return demand_of(bench.job(fields)); };
    const Demand plain = demand(command);
    CHECK(plain.cpus == 1);
    CHECK(plain.memory == 0);
    CHECK(plain.gpus == 0);
    CHECK(plain.seconds == 0);
    CHECK_FALSE(plain.is_exclusive);
    CHECK_FALSE(plain.is_oversubscribed);
    const Demand ranks = demand(
        command + "launch: {kind: mpi, oversubscribe: true, guard: false}\nresources: "
                  "{tasks-per-node: 3, cpus-per-task: 5, memory-per-cpu: 7 MiB, time: 11 min, "
                  "exclusive: true}\n");
    CHECK(ranks.cpus == 15);
    CHECK(ranks.memory == 105 * kMegabyte);
    CHECK(ranks.seconds == 660);
    CHECK(ranks.is_exclusive);
    CHECK(ranks.is_oversubscribed);
    CHECK(demand(command + "resources: {memory-per-node: 9 MiB, gpus-per-node: 3}\n").memory ==
          9 * kMegabyte);
    CHECK(demand(command + "resources: {gpus-per-node: 3}\n").gpus == 3);
    launchers::Job much = bench.job(command);
    much.resources.tasks = 7;
    much.resources.memory_per_cpu_bytes = UINT64_MAX / 6; // the product has no 64 bits
    CHECK(demand_of(much).memory == UINT64_MAX);
    much.resources.memory_per_cpu_bytes = UINT64_MAX / 7;
    CHECK(demand_of(much).memory == UINT64_MAX / 7 * 7);
    much.resources.memory_per_node_bytes = UINT64_MAX - 1;
    CHECK(demand_of(much).memory == UINT64_MAX - 1);
}

TEST_CASE("local: what is too much is named at its field, all at once, with what helps") {
    const DemandBench bench;
    CHECK(bench.local("command: [x]\n") == "");
    const std::string serial = "command: [x]\nresources:\n  time: 1 min\n";
    CHECK(bench.local(serial + "  cpus-per-task: 90000\n") == "machine-cores:6 ");
    CHECK(bench.help(serial + "  cpus-per-task: 90000\n").starts_with("ask for at most "));
    CHECK(bench.local(serial + "  memory-per-node: 900 TiB\n") == "machine-memory:6 ");
    CHECK(bench.local(serial + "  memory-per-cpu: 900 TiB\n") == "machine-memory:6 ");
    CHECK(bench.local(serial + "  gpus-per-node: 900\n") == "machine-gpus:6 ");
    CHECK(bench.local(serial + "  memory-per-node: 900 TiB\n  gpus-per-node: 900\n"
                               "  cpus-per-task: 90000\n") ==
          "machine-memory:6 machine-gpus:7 machine-cores:8 ");

    const std::string ranks = "command: [x]\nlaunch: {kind: mpi, guard: false}\nresources:\n";
    CHECK(bench.local(ranks + "  nodes: 1\n  tasks-per-node: 90000\n") == "machine-cores:7 ");
    CHECK(bench.help(ranks + "  tasks-per-node: 90000\n").find("oversubscribe: true") !=
          std::string::npos);
    const std::string threads =
        bench.help("command: [x]\nlaunch: {kind: openmp, threads: 90000}\nresources: "
                   "{cpus-per-task: 90000}\n");
    CHECK(threads.starts_with("let the 90000 threads share cores"));

    const std::string rows = "script: 'true'\nsweep:\n  x: [1, 2, 3]\n  pack: all\n";
    const std::string wide = "resources: {cpus-per-task: 90000}\n";
    CHECK(bench.local(rows + wide) == "machine-cores:6 ");
    CHECK(bench.local(rows + "  at-once: 2\n" + wide) == "machine-cores:7 ");
}

TEST_CASE("local: a job can wait only for one that the local scheduler has") {
    const DemandBench bench;
    const std::string fields = "command: [x]\nafter:\n  - {job: '7', when: ok}\n"
                               "  - {job: wheat, when: any}\n";
    CHECK(bench.local(fields) == "local-job-unknown:5 local-job-unknown:6 ");
}

TEST_CASE("places: the folders of a job are there, unless its inputs make them") {
    const DemandBench bench;
    const auto check = [&](const std::string& fields, const std::string& scheduler = "slurm") {
        const launchers::Job job = bench.job(fields);
        return DemandBench::ids(check_folders(job, job.place(job.workdir), scheduler));
    };
    const std::string command = "command: [x]\n";
    CHECK(check(command) == "");
    CHECK(check(command + "workdir: gone\n") == "workdir-missing:4 ");
    CHECK(check(command + "output:\n  stdout: logs/a\n  stderr: logs/b\n") ==
          "output-folder-missing-there:5 output-folder-missing-there:6 ");
    fs::create_directory(bench.directory.path() / "logs");
    CHECK(check(command + "output:\n  stdout: logs/a\n  stderr: logs/b\n") == "");
    CHECK(check(command + "output: {stdout: '%x/a'}\n") == "");  // known when the job runs
    CHECK(check(command + "output: {stdout: /none/a}\n") == ""); // of the nodes
    CHECK(check(command + "output: {stdout: /none/a}\n", "local") ==
          "output-folder-missing-there:4 ");
}

} // namespace cybele::submission
