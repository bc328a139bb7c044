// SPDX-License-Identifier: Apache-2.0
#include "submission/journal/journal.hpp"
#include "submission/submit/dependencies.hpp"
#include "support/file.hpp"

#include <doctest/doctest.h>

using namespace cybele;

namespace {

struct Home {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    Environment environment{EnvironmentMap{{"CYBELE_STATE_DIR", directory.path().native()}}};
    int count = 0;

    void
    put(const std::string& name, const std::string& id, submission::State state, int code = -1) {
        submission::Entry made;
        made.uuid = "0a1b2c3d-0000-4000-8000-00000000000" + std::to_string(count);
        made.asked = 100 + count++;
        made.name = name;
        made.id = id;
        made.scheduler = "slurm";
        made.state = state;
        made.code = code;
        made.ended = submission::is_over(state) ? 200 : 0;
        REQUIRE(submission::Journal::open(environment).value().put(made).has_value());
    }
    [[nodiscard]] submission::JobInput input(const std::string& after,
                                             const std::string& options = "") const {
        const auto file = directory.path() / "job.yaml";
        REQUIRE(write_file(file, "kind: Job\nname: run\ncommand: [x]\n" + after).has_value());
        submission::JobRequest request;
        request.file = file;
        request.scheduler = "slurm";
        request.overrides.dependency = options;
        auto read = submission::read_job_input(request);
        REQUIRE_MESSAGE(read.has_value(), read.error().message());
        return *read;
    }
    [[nodiscard]] std::string ids(submission::JobInput input, const std::string& login = "") const {
        const auto done = submission::resolve_dependencies(
            input, environment, submission::read_connection(login).value());
        if (!done) {
            return done.error().faults().front().message;
        }
        std::string text;
        for (const auto& after : input.job.after) {
            text += after.when + ":" + after.job + " ";
        }
        return text;
    }
};

} // namespace

TEST_CASE("a name stands for the job that was submitted last under it") {
    Home place;
    place.put("prepare", "11", submission::State::kFailed, 1);
    place.put("prepare", "12", submission::State::kRunning);
    place.put("other", "13", submission::State::kPending);
    CHECK(place.ids(place.input("after: [{job: prepare}, {job: '7', when: any}]\n")) ==
          "ok:12 any:7 ");
    CHECK(place.ids(place.input("", "afternotok:prepare:other,after:9")) ==
          "failed:12 failed:13 started:9 ");
    CHECK(place.ids(place.input("after: [{job: none}]\n")) == "no job of this name was submitted");
    auto unknown = place.input("after: [{job: none}, {job: prepare}]\n");
    CHECK_FALSE(submission::resolve_dependencies(
        unknown, place.environment, submission::read_connection("").value()));
    CHECK(unknown.job.after.size() == 1); // a later check has nothing to say of the other one
    CHECK(place.ids(place.input("after: [{job: prepare}]\n"), "elsewhere") ==
          "no job of this name was submitted");
}

TEST_CASE("a condition that is met is dropped, one that cannot be met is refused") {
    Home place;
    place.put("good", "21", submission::State::kDone, 0);
    place.put("bad", "22", submission::State::kFailed, 3);
    place.put("lost", "23", submission::State::kLost);
    CHECK(place.ids(place.input("", "afterok:good")).empty());
    CHECK(place.ids(place.input("", "afternotok:bad,afterany:bad,after:good")).empty());
    CHECK(place.ids(place.input("", "afterok:bad")) ==
          "job 22 ended as failed, so this job would wait for ever (-d)");
    CHECK(place.ids(place.input("", "afternotok:good")) ==
          "job 21 ended as done, so this job would wait for ever (-d)");
    CHECK(place.ids(place.input("", "afterok:lost")) == "ok:23 ");
}

TEST_CASE("sbatch's words for dependencies are read, others are refused") {
    const Home place;
    const auto refused = [&place](const std::string& words) {
        submission::JobRequest request;
        request.file = place.directory.path() / "job.yaml";
        request.overrides.dependency = words;
        const auto read = submission::read_job_input(request);
        REQUIRE_FALSE(read.has_value());
        return read.error().faults().front();
    };
    (void)place.input("");
    for (const std::string words :
         {"afterok", "afterok:", "singleton", "12", "afterok:1,,after:2"}) {
        CAPTURE(words);
        CHECK(refused(words).message.starts_with("-d does not read '"));
    }
    CHECK(refused("17:afterok").help == "write `-d afterok:17`"); // the other way round
    CHECK(refused("17:later").help.starts_with("write -d afterok:ID"));
    CHECK(refused("17:afterok:9").help.starts_with("write -d afterok:ID"));
}
