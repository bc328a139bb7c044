// SPDX-License-Identifier: Apache-2.0
// A job whose submission was not acknowledged is found by its UUID, in the queue or by what its
// script wrote, and no other is taken for it.
#include "submission/backends/command_backend.hpp"
#include "support/file.hpp"

#include <string>

#include <doctest/doctest.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

/// A machine whose squeue prints a text.
struct QueueOfText {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    fs::path record = directory.path() / "record";
    Environment environment{
        EnvironmentMap{{"PATH", (directory.path() / "bin").native() + ":/usr/bin:/bin"}}};

    void shows(const std::string& text, int code = 0) const {
        REQUIRE(make_directories(directory.path() / "bin"));
        REQUIRE(write_file(directory.path() / "lines", text));
        REQUIRE(write_file(directory.path() / "bin" / "squeue",
                           "#!/bin/sh\ncat '" + (directory.path() / "lines").native() + "'\nexit " +
                               std::to_string(code) + "\n",
                           0755));
    }
    void writes_id(const std::string& element, const std::string& id) const {
        REQUIRE(make_directories(record / element / "started"));
        REQUIRE(write_file(record / element / "started" / "id", id));
    }
    /// "-": it is not known; "!": the question failed.
    [[nodiscard]] std::string found(const std::string& array = "") const {
        JobRef job;
        job.uuid = "mine";
        job.record = record.native();
        job.array = array;
        const auto backend = command_backend(slurm_commands(), this_machine(environment));
        const auto id = backend->find(job);
        return !id ? "!" : id->value_or("-");
    }
};

} // namespace

TEST_CASE("find: by the UUID that the queue shows, of several jobs") {
    const QueueOfText queue;
    queue.shows("7|7|RUNNING|None|1795258529|n1|cybelectl:other\n"
                "8|8|PENDING|Priority|N/A||cybelectl:mine\n"
                "9|9|PENDING|Priority|N/A||(null)\n");
    CHECK(queue.found() == "8");
    queue.shows("7|7|RUNNING|None|1795258529|n1|cybelectl:other\n"
                "9|9|PENDING|Priority|N/A||(null)\n");
    CHECK(queue.found() == "-");
    queue.shows("");
    CHECK(queue.found() == "-");
    queue.shows("", 1);
    CHECK(queue.found() == "!");
}

TEST_CASE("find: by the id that the script wrote, where the queue does not show the job any more") {
    const QueueOfText queue;
    queue.shows("7|7|RUNNING|None|1795258529|n1|cybelectl:other\n");
    queue.writes_id("", "12\n");
    CHECK(queue.found() == "12");
    CHECK(queue.found("1-3") == "-"); // of an array each element has a folder
    queue.writes_id("2", "12\n");
    CHECK(queue.found("1-3") == "12");
    CHECK(queue.found("3-5") == "-");
    queue.shows("8|8|PENDING|Priority|N/A||cybelectl:mine\n"); // the queue's word comes first
    CHECK(queue.found() == "8");
}

} // namespace cybele::submission
