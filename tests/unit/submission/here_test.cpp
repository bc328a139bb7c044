// SPDX-License-Identifier: Apache-2.0
// What a submission from this machine refuses before the queue, because the job would end for it
// after the queue.
#include "submission/submit/here.hpp"
#include "support/file.hpp"

#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kRoot = 0;
constexpr uid_t kUser = 1234;
constexpr const char* kHostRanks = "command: [x]\nlaunch: {kind: mpi, guard: false}\n";

/// A folder with a Job, a Site and a bin/, the only folder in PATH.
struct HereBench {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    Environment environment{EnvironmentMap{{"PATH", (directory.path() / "bin").native()}}};

    HereBench() {
        fs::create_directories(directory.path() / "bin");
        fs::create_directories(directory.path() / "root");
    }
    void program(const std::string& name) const {
        REQUIRE(write_file(directory.path() / "bin" / name, "#!/bin/sh\n", 0755).has_value());
    }
    [[nodiscard]] submission::JobInput input(const std::string& fields,
                                             const std::string& scheduler,
                                             const std::string& site = "",
                                             bool allow_root = false) const {
        const auto file = directory.path() / "job.yaml";
        REQUIRE(write_file(file, "kind: Job\nname: run\n" + fields).has_value());
        submission::JobRequest request;
        request.file = file;
        request.scheduler = scheduler;
        request.overrides.allow_root = allow_root;
        if (!site.empty()) {
            request.site = directory.path() / "site.yaml";
            REQUIRE(write_file(request.site, "kind: Site\nname: here\n" + site).has_value());
        }
        auto read = submission::read_job_input(request);
        REQUIRE_MESSAGE(read.has_value(), read.error().message());
        return *read;
    }
    /// The names of the faults, with their lines; empty: it would be submitted.
    [[nodiscard]] std::string faults(const submission::JobInput& input, uid_t user = kUser) const {
        const auto done = submission::check_here(input, environment, user);
        std::string text;
        if (!done) {
            CHECK(done.error().code() == ErrorCode::kInput);
            for (const Fault& fault : done.error().faults()) {
                CHECK_FALSE(fault.help.empty());
                text += fault.id + ":" + std::to_string(fault.where.value().line) + " ";
            }
        }
        return text;
    }
};

} // namespace

TEST_CASE("root whose mpirun would not start is refused before the queue of every cluster") {
    const HereBench bench;
    const std::string refused = "mpirun-as-root:4 ";
    for (const char* const dialect : {"torque", "pbspro", "slurm-torque"}) {
        CAPTURE(dialect);
        CHECK(bench.faults(bench.input(kHostRanks, dialect), kRoot) == refused);
        CHECK(bench.faults(bench.input(kHostRanks, dialect), kUser).empty());
        CHECK(bench.faults(bench.input(kHostRanks, dialect, "", true), kRoot).empty());
    }
}

TEST_CASE("root is refused for the mpirun of Open MPI alone, and where the image's MPI is known") {
    const HereBench bench;
    const auto is_refused = [&bench](const std::string& fields, const std::string& dialect) {
        return !bench.faults(bench.input("command: [x]\n" + fields, dialect), kRoot).empty();
    };
    CHECK(is_refused("launch: {kind: mpi, guard: false, launcher: mpirun}\n", "slurm"));
    CHECK_FALSE(is_refused("launch: {kind: mpi, guard: false, allow-root: true}\n", "torque"));
    CHECK_FALSE(is_refused("launch: {kind: mpi, guard: false, launcher: srun}\n", "slurm"));
    CHECK_FALSE(is_refused("", "torque"));
    CHECK_FALSE(is_refused("launch: torch\n", "torque"));
    submission::JobInput later = bench.input("image: later.sif\n" + std::string(kHostRanks),
                                             "torque"); // it is not built yet
    CHECK(bench.faults(later, kRoot).empty());
    later.facts.emplace().mpi = "openmpi 4.1.4";
    CHECK(bench.faults(later, kRoot) == "mpirun-as-root:5 ");
    const std::string other = "scheduler: torque\nmpi: [{family: mpich, version: 4.0.2}]\n";
    CHECK(bench.faults(bench.input(kHostRanks, "torque", other), kRoot).empty());
}

TEST_CASE("the runtime that the Site names has to be on the machine of a local job") {
    const HereBench bench;
    const std::string job = "image: ./root\ncommand: [x]\n";
    const std::string site = "scheduler: local\nruntime: ";
    const std::string refused = "runtime-missing-here:3 ";
    CHECK(bench.faults(bench.input(job, "local", site + "apptainer\n")) == refused);
    CHECK(bench.faults(bench.input(job, "local", site + "cybelectl\n")).empty());
    const std::string path = (bench.directory.path() / "opt" / "apptainer").native();
    const std::string placed = site + "{program: apptainer, path: " + path + "}\n";
    CHECK(bench.faults(bench.input(job, "local", placed)) == refused);
    bench.program("apptainer");
    CHECK(bench.faults(bench.input(job, "local", site + "apptainer\n")).empty());
    CHECK(bench.faults(bench.input(job, "local", placed)) == refused); // not the one in PATH
    fs::create_directories(fs::path(path).parent_path());
    REQUIRE(write_file(path, "#!/bin/sh\n", 0755).has_value());
    CHECK(bench.faults(bench.input(job, "local", placed)).empty());
    // A program of the host needs none; set-up may bring one; a cluster's nodes are other machines.
    const std::string singularity = site + "singularity\n";
    CHECK(bench.faults(bench.input("command: [x]\n", "local", singularity)).empty());
    CHECK(bench.faults(bench.input(job + "setup: module load x\n", "local", singularity)).empty());
    CHECK(bench.faults(bench.input(job, "slurm", "scheduler: slurm\nruntime: singularity\n"))
              .empty());
}

TEST_CASE("python3 has to be there for a local torchrun of the host, and an image brings its own") {
    const HereBench bench;
    const std::string job = "command: [x.py]\nlaunch: torch\n";
    CHECK(bench.faults(bench.input(job, "local")) == "program-missing-here:4 ");
    CHECK(bench.faults(bench.input(job, "slurm")).empty());
    CHECK(bench.faults(bench.input(job + "setup: module load torch\n", "local")).empty());
    CHECK(bench.faults(bench.input("image: ./root\n" + job, "local")).empty());
    bench.program("python3");
    CHECK(bench.faults(bench.input(job, "local")).empty());
}

TEST_CASE("a launcher that the Job or the Site names is looked for, and all faults come at once") {
    const HereBench bench;
    const std::string job = "image: ./root\ncommand: [x]\nbinds: [none:/data]\n"
                            "environment: {KEY: '@file:none'}\n";
    CHECK(bench.faults(bench.input(job, "local", "scheduler: local\nruntime: apptainer\n")) ==
          "runtime-missing-here:3 bind-source-missing-here:5 secret-unreadable-here:6 ");
    CHECK(bench.faults(bench.input(kHostRanks, "local"), kRoot) ==
          "mpirun-as-root:4 program-missing-here:4 ");
    bench.program("mpirun");
    CHECK(bench.faults(bench.input(kHostRanks, "local")).empty());
}
