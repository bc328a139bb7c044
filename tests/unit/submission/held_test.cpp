// SPDX-License-Identifier: Apache-2.0
// Jobs that are handed over held, found among those of all users, and let go.
#include "submission/backends/command_backend.hpp"
#include "submission/backends/pbs.hpp"
#include "submission/backends/slurm_queue.hpp"
#include "support/environment.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

using namespace cybele;
using submission::State;

namespace {

/// What squeue 22.05 printed for these columns; `cut` columns were longer.
std::string queue_line(const std::string& id, const std::string& state, const std::string& rest) {
    std::string line = id;
    line.resize(24, ' ');
    line += "|root                            |" + state;
    line.resize(24 + 1 + 32 + 1 + 14, ' ');
    return line + "|" + rest + "\n";
}

std::string why_column(std::string why) {
    why.resize(160, ' ');
    return why + "|";
}

std::string comment_column(std::string comment) {
    comment.resize(56, ' ');
    return comment + "|";
}

const std::string kUuid = "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab";

submission::Submission held_submission(const std::string& uuid) {
    submission::Submission one;
    one.uuid = uuid;
    one.script = "job.sh";
    one.own.emplace();
    one.is_held = true;
    return one;
}

bool has_word(const submission::Call& call, const std::string& word) {
    return std::find(call.argv.begin(), call.argv.end(), word) != call.argv.end();
}

std::string setting_of(const char* name) {
    return Environment::of_this_process().get_or(name, "");
}

} // namespace

TEST_CASE("squeue's listing of all users is read with owner, token, requeues and end") {
    const std::string text =
        queue_line("2",
                   "FAILED",
                   "0     |768     |1795574147          |1795574190          |" +
                       why_column("NonZeroExitCode") + comment_column("(null)")) +
        queue_line("3",
                   "PENDING",
                   "1     |0       |1795574310          |1795577910          |" +
                       why_column("BeginTime") + comment_column("cybelectl:" + kUuid)) +
        queue_line("4",
                   "FAILED",
                   "0     |9       |1795574190          |1795574190          |" +
                       why_column("JobLaunchFailure") + comment_column("")) +
        queue_line("1",
                   "PENDING",
                   "0     |0       |N/A                 |N/A                 |" +
                       why_column("JobHeldUser") + "x") +
        "7|root|RUNNING|0|0|1|1|None|cybelectl:" + kUuid + "\n";
    const auto seen = submission::read_squeue_of_all(text);
    REQUIRE(seen.size() == 4); // a line end in a comment makes no job
    CHECK(seen[0].id == "2");
    CHECK(seen[0].owner == "root");
    CHECK(seen[0].state == State::kFailed);
    CHECK(seen[0].code == 3);
    CHECK(seen[0].began == 1795574147);
    CHECK(seen[0].ended == 1795574190);
    CHECK(seen[0].uuid.empty());
    CHECK(seen[1].uuid == kUuid);
    CHECK(seen[1].restarts == 1);
    CHECK(seen[1].began == 0); // estimated
    CHECK_FALSE(seen[2].code.has_value());
    CHECK(seen[2].signal == 9);
    CHECK(seen[3].state == State::kHeld);
    CHECK_FALSE(seen[3].is_held_by_admin);
    CHECK(seen[3].uuid.empty());
}

TEST_CASE("the columns of squeue are as wide as what is read") {
    const std::string columns = submission::squeue_columns_of_all();
    CHECK(columns.starts_with("JobArrayID:24|,UserName:32|,State:14|,RestartCnt:6|"));
    CHECK(columns.ends_with(",Comment:56|"));
}

TEST_CASE("a reason is read completely, and one that squeue has cut is marked") {
    const std::string most(160, 'n');
    for (const auto& [why, seen_as] :
         {std::pair<std::string, std::string>("ReqNodeNotAvail, UnavailableNodes:n[1-40],n50,n60",
                                              "ReqNodeNotAvail, UnavailableNodes:n[1-40],n50,n60"),
          {most + "more", most + "..."}}) {
        const auto seen = submission::read_squeue_of_all(
            queue_line("6",
                       "PENDING",
                       "0     |0       |N/A                 |N/A                 |" +
                           why_column(why) + comment_column("")));
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].reason == seen_as);
    }
}

TEST_CASE("a token with more behind it is another token") {
    const auto seen = submission::read_squeue_of_all(
        queue_line("5",
                   "PENDING",
                   "0     |0       |N/A                 |N/A                 |" +
                       why_column("JobHeldAdmin") + comment_column("cybelectl:" + kUuid + "x")));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].uuid != kUuid);
    CHECK(seen[0].is_held_by_admin);
}

TEST_CASE("a job is handed over held only where that is asked") {
    submission::Submission one = held_submission(kUuid);
    CHECK(has_word(submission::slurm_commands()->submission(one), "--hold"));
    CHECK(has_word(submission::torque_commands()->submission(one), "-h"));
    CHECK(has_word(submission::pbspro_commands()->submission(one), "-h"));
    one.is_held = false;
    CHECK_FALSE(has_word(submission::slurm_commands()->submission(one), "--hold"));
    CHECK_FALSE(has_word(submission::torque_commands()->submission(one), "-h"));
}

TEST_CASE("a hundred jobs are let go by one call") {
    std::vector<std::string> ids;
    for (int id = 1; id <= 150; ++id) {
        ids.push_back(std::to_string(id));
    }
    const auto slurm = submission::slurm_commands()->releasing(ids);
    REQUIRE(slurm.size() == 2);
    CHECK(slurm[0].argv[1] == "release");
    CHECK(slurm[1].argv[2].starts_with("101,102,"));
    const auto pbs = submission::torque_commands()->releasing(ids);
    REQUIRE(pbs.size() == 2);
    CHECK(pbs[0].argv.front() == "qrls");
    CHECK(pbs[0].argv.size() == 101);
    CHECK(pbs[1].argv.back() == "150");
}

TEST_CASE("what TORQUE and OpenPBS printed shows owner, hold and requeues") {
    for (const std::string file : {"torque-6.1.qstat-f-held.txt",
                                   "openpbs-23.06.qstat-f-held.txt",
                                   "openpbs-23.06.qstat-x-f-held-by-dependency.txt",
                                   "torque-6.1.qstat-f-held-while-running.txt"}) {
        CAPTURE(file);
        const std::string text =
            read_file(std::string(CYBELE_TESTS_DIR) + "/cases/pbs/" + file).value();
        Outcome answer;
        answer.output = text;
        const auto seen = submission::torque_commands()->all_statuses({answer});
        REQUIRE(seen);
        REQUIRE_FALSE(seen->empty());
        for (const auto& job : *seen) {
            CHECK((job.owner == "alice" || job.owner.starts_with("user")));
            CHECK(job.restarts == 0);
        }
        const bool is_by_system = file.find("dependency") != std::string::npos;
        CHECK(std::any_of(seen->begin(), seen->end(), [](const auto& job) {
                  return job.is_held_by_admin;
              }) == is_by_system);
    }
}

// By tests/cluster/bridge.bats, on the head node of a real Slurm.
TEST_CASE("held hand-over on a real Slurm" *
          doctest::skip(setting_of("CYBELE_HELD_SCRIPT").empty())) {
    const auto backend = submission::command_backend(
        submission::slurm_commands(), submission::this_machine(Environment::of_this_process()));
    submission::Submission one = held_submission(kUuid);
    one.script = setting_of("CYBELE_HELD_SCRIPT");
    one.folder = one.script.parent_path();
    const auto find_jobs = [&] {
        const auto all = backend->look_at_all();
        REQUIRE_FALSE(all.failure);
        std::vector<submission::JobStatus> found;
        std::copy_if(all.seen.begin(),
                     all.seen.end(),
                     std::back_inserter(found),
                     [](const auto& job) { return job.uuid == kUuid; });
        return found;
    };
    const auto first = backend->submit(one);
    const auto second = backend->submit(one);
    REQUIRE(first.kind == submission::Receipt::Kind::kAccepted);
    REQUIRE(second.kind == submission::Receipt::Kind::kAccepted);
    const auto held = find_jobs();
    REQUIRE(held.size() == 2);
    for (const auto& job : held) {
        CHECK(job.state == State::kHeld);
        CHECK_FALSE(job.is_held_by_admin);
        CHECK(job.owner == setting_of("USER"));
    }
    // An unknown id among them does not stop the others.
    CHECK(backend->release({first.id, "999999"}));
    CHECK(backend->cancel({{second.id, kUuid, {}}}));
    for (const auto& job : find_jobs()) {
        CAPTURE(job.id);
        CHECK(job.state != State::kHeld);
        CHECK((job.id == first.id || job.state == State::kCancelled));
    }
    MESSAGE("released " << first.id << ", cancelled " << second.id);
}
