// SPDX-License-Identifier: Apache-2.0
// What `submit -vv` prints of a stage, name by name.
#include "submission/submit/job_json.hpp"
#include "submission/submit/submit.hpp"

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

using Json = nlohmann::json;

/// Values that all differ.
JobInput told_input() {
    JobInput input;
    launchers::Job& job = input.job;
    job.name = "wheat";
    job.folder = "/home/alice";
    job.workdir = "/work";
    job.launch.kind = launchers::LaunchKind::kMpi;
    job.resources.nodes = 3;
    job.resources.tasks = 15;
    job.resources.tasks_per_node = 5;
    job.resources.cpus_per_task = 7;
    job.resources.gpus_per_node = 2;
    job.resources.time = std::chrono::seconds(660);
    job.queue = "long";
    job.account = "crops";
    job.array = "0-9";
    job.after = {{"17", "ok"}};
    job.output.standard_output = "a.out";
    job.output.standard_error = "b.err";
    job.arguments = {"one", "two"};
    job.replaced = {{"queue", "-p"}};
    input.dialect = "slurm";
    input.image = "app.sif";
    input.image_file = "/home/alice/app.sif";
    input.image_digest = "sha256:named";
    input.file_digest = "sha256:file";
    input.is_stored = true;
    input.facts.emplace().mpi = "openmpi-4.1.4";
    return input;
}

} // namespace

TEST_CASE("what a stage knows of a job is printed under the name of its field") {
    const Json told = Json::parse(print_json(told_input()));
    Json expected = {{"name", "wheat"},
                     {"document", ""},
                     {"folder", "/home/alice"},
                     {"workdir", "/work"},
                     {"launch", "mpi"},
                     {"nodes", 3},
                     {"tasks", 15},
                     {"tasks-per-node", 5},
                     {"cpus-per-task", 7},
                     {"gpus-per-node", 2},
                     {"time", 660},
                     {"queue", "long"},
                     {"account", "crops"},
                     {"array", "0-9"},
                     {"after", told["job"]["after"]},
                     {"stdout", "a.out"},
                     {"stderr", "b.err"},
                     {"arguments", {"one", "two"}},
                     {"replaced", {{"queue", "-p"}}}};
    CHECK(told["job"] == expected);
    REQUIRE(told["job"]["after"].size() == 1);
    CHECK(told["job"]["after"][0]["job"] == "17");
    CHECK(told["job"]["after"][0]["when"] == "ok");
    expected = {{"named", "app.sif"},
                {"file", "/home/alice/app.sif"},
                {"digest", "sha256:named"},
                {"file-digest", "sha256:file"},
                {"stored", true},
                {"outdated", false},
                {"recipe", nullptr},
                {"mpi", "openmpi-4.1.4"}};
    CHECK(told["image"] == expected);
    CHECK(told["scheduler"] == "slurm");
    CHECK(told["site"].is_null());
}

TEST_CASE("what is to be transferred, and a script of the user's own, are printed completely") {
    RenderedJob job;
    job.input = told_input();
    job.input.image_digest.reset();
    job.input.job.resources.time.reset();
    job.transfers.staged_files = {{"/in.txt", "data/in.txt", 6, "d1", false, "stage-in[0]"}};
    job.script = "#!/bin/sh\n";
    job.own = OwnScript{"a.sh", "torque", {"/bin/sh", "-e"}, {"x"}, "A=1"};
    const Json told = Json::parse(print_json(job));
    CHECK(told["job"]["time"].is_null());
    CHECK(told["image"]["digest"].is_null());
    const Json file{{"from", "/in.txt"}, {"to", "data/in.txt"}, {"bytes", 6}, {"digest", "d1"}};
    CHECK(told["transfers"] == Json::array({file}));
    CHECK(told["own"] == Json{{"name", "a.sh"},
                              {"reader", "torque"},
                              {"shell", {"/bin/sh", "-e"}},
                              {"arguments", {"x"}}});
    CHECK(told["connection"] == shown(Connection()));
}

} // namespace cybele::submission
