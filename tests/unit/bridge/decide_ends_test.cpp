// SPDX-License-Identifier: Apache-2.0
#include "bridge/decide/ends.hpp"
#include "bridge/objects/refusals.hpp"
#include "tests/unit/bridge/scene.hpp"

#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

using namespace cybele;
using namespace scene;
using bridge::DesiredState;
using bridge::SeenState;
using bridge::Stage;
using bridge::Step;

TEST_CASE("ends have a code and a reason of their own") {
    const struct {
        State state;
        const char* native;
        std::optional<int> code;
        int signal;
        const char* condition;
        const char* reason;
    } rows[] = {
        {State::kDone, "COMPLETED", 0, 0, "Complete", "Completed"},
        {State::kFailed, "FAILED", 3, 0, "Failed", "NonZeroExit"},
        {State::kFailed, "FAILED", std::nullopt, 9, "Failed", "Signal"},
        {State::kFailed, "OUT_OF_MEMORY", 0, 125, "Failed", "OutOfMemory"},
        {State::kFailed, "DEADLINE", std::nullopt, 0, "Failed", "Deadline"},
        {State::kTimeout, "TIMEOUT", 0, 0, "Failed", "TimeLimit"},
        {State::kCancelled, "CANCELLED by 1000", 0, 0, "Failed", "CancelledOnCluster"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.native);
        Scene scene;
        scene.with_id("9", "RUNNING").shows("9", row.state, row.native);
        scene.view.queue.jobs[0].code = row.code;
        scene.view.queue.jobs[0].signal = row.signal;
        scene.view.queue.jobs[0].ended = 1500;
        scene.view.queue.jobs[0].restarts = 2;
        const auto status = written(scene.decide());
        CHECK(status.find(row.condition)->reason == row.reason);
        CHECK(status.holds(row.condition));
        CHECK(status.exit_code == row.code);
        CHECK(status.signal == row.signal);
        CHECK(status.ended == 1500);
        CHECK(status.restarts == 2);
        CHECK(status.phase == (row.state == State::kDone ? "Succeeded" : "Failed"));
        CHECK_FALSE(status.holds("Running"));
    }
}

TEST_CASE(
    "the end of a node is not the end of the job until it lasts with the same count of requeues") {
    Scene scene;
    scene.with_id("9", "RUNNING").shows("9", State::kFailed, "NODE_FAIL");
    scene.memory = bridge::observed({scene.object, scene.view, scene.memory, scene.world});
    CHECK(scene.decide().step == Step::kWait);
    scene.world.now += scene.world.times.dying;
    CHECK(scene.decide().step == Step::kConclude);
    // Requeued in between: the next end of a node is another.
    scene.view.queue.jobs[0].restarts = 1;
    scene.memory = bridge::observed({scene.object, scene.view, scene.memory, scene.world});
    CHECK(scene.decide().step == Step::kWait);
    scene.view.queue.jobs[0].state = State::kPending;
    scene.view.queue.jobs[0].native = "PENDING";
    scene.object.status.set({"Running", "True", "Started", "", 1});
    const auto status = written(scene.decide());
    CHECK(status.restarts == 1);
    CHECK(status.find("Running")->status == "False");
    CHECK(status.find("Running")->reason == "Requeued");
    scene.object.status = status;
    CHECK(scene.decide().actions.empty());
}

TEST_CASE("a job that vanished is looked up, waited for, and never called a success") {
    Scene scene;
    scene.with_id("9", "RUNNING");
    CHECK(scene.decide().step == Step::kInquire);
    scene.view.accounted.was_asked = true;
    scene.view.record.was_read = true;
    scene.memory = bridge::observed({scene.object, scene.view, scene.memory, scene.world});
    CHECK(scene.decide().actions.empty());
    scene.memory.absences = 5; // many answers in a short time
    CHECK(scene.decide().actions.empty());
    scene.memory.absences = 1;
    scene.world.now += scene.world.times.vanished;
    CHECK(scene.decide().actions.empty()); // one answer
    scene.memory = bridge::observed({scene.object, scene.view, scene.memory, scene.world});
    const auto status = written(scene.decide());
    CHECK(status.find("Failed")->reason == bridge::kLeftNoTrace);
    CHECK(status.phase == "Unknown");
    scene.view.accounted.job = bridge::SeenJob();
    scene.view.accounted.job->state = State::kDone;
    scene.view.accounted.job->code = 0;
    CHECK(written(scene.decide()).holds("Complete"));
}

TEST_CASE("an end that the queue does not explain is asked for") {
    Scene scene;
    scene.with_id("9", "R").shows("9", State::kLost, "C");
    CHECK(scene.decide().step == Step::kInquire);
    scene.view.record.was_read = true;
    scene.view.accounted.was_asked = true;
    CHECK(scene.decide().actions.empty());
    scene.view.record.end = bridge::SeenJob();
    scene.view.record.end->state = State::kFailed;
    scene.view.record.end->code = 4;
    CHECK(written(scene.decide()).exit_code == 4);
}

TEST_CASE("a deletion is proven by the batch system") {
    Scene scene;
    scene.with_id("9", "RUNNING").shows("9", State::kRunning, "RUNNING").deleted();
    auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kCancel)->ids == std::vector<std::string>{"9"});
    CHECK(find(decision, Action::Kind::kLetGo) == nullptr);
    CHECK(written(decision).holds("Cancelling"));
    scene.memory = decision.memory;
    scene.object.status = written(decision);
    CHECK(scene.decide().actions.empty()); // asked a moment ago
    scene.world.now += scene.world.times.cancel_again;
    CHECK(find(scene.decide(), Action::Kind::kCancel) != nullptr);
    scene.view.queue.jobs[0].state = State::kCancelled;
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
    // A second job of the object keeps it.
    scene.shows("12", State::kHeld, "PENDING");
    CHECK(find(scene.decide(), Action::Kind::kLetGo) == nullptr);
    scene.view.queue.jobs.back().state = State::kRunning;
    CHECK(find(scene.decide(), Action::Kind::kLetGo) == nullptr);
    scene.world.now += scene.world.times.cancel_again;
    CHECK(find(scene.decide(), Action::Kind::kCancel)->ids == std::vector<std::string>{"12"});
    scene.view.queue.is_complete = false;
    decision = scene.decide();
    CHECK(written(decision).find("Cancelling")->reason == "Unreachable");
    CHECK(find(decision, Action::Kind::kLetGo) == nullptr);
}

TEST_CASE("a number that came again for another job is not cancelled") {
    Scene scene;
    scene.claimed().deleted().view.record = {true, true, 1, true, 5, "9", "", {}};
    scene.shows("9", State::kRunning, "RUNNING");
    scene.view.queue.jobs[0].token = "00000000-0000-4000-8000-000000000000";
    CHECK(find(scene.decide(), Action::Kind::kCancel) == nullptr);
}

TEST_CASE("an object that was claimed closes its record before it goes") {
    Scene scene;
    scene.claimed().deleted().view.record.was_read = true;
    CHECK(find(scene.decide(), Action::Kind::kClose) != nullptr);
    scene.view.record.is_closed = true;
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
    scene.view.record.claims = 1;
    CHECK(scene.decide().actions.empty());
}

TEST_CASE("a deleted object that came back without its id waits for the job that may be requeued") {
    Scene scene;
    scene.claimed().deleted();
    scene.shows("2", State::kCancelled, "CANCELLED").shows("5", State::kFailed, "NODE_FAIL");
    scene.view.record.was_read = true;
    scene.view.record.is_closed = true;
    CHECK(find(scene.decide(), Action::Kind::kLetGo) == nullptr);
    scene.view.queue.jobs[1].native = "FAILED";
    scene.view.queue.jobs[1].code = 1;
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
}

TEST_CASE("an object goes when its job has ended and no other hand-over can bring a late job") {
    Scene scene;
    scene.claimed().deleted().shows("2", State::kCancelled, "CANCELLED");
    CHECK(find(scene.decide(), Action::Kind::kClose) != nullptr);
    scene.view.record.was_read = true;
    scene.view.record.is_closed = true;
    SUBCASE("one hand-over") {
        scene.view.record.claims = 1;
    }
    SUBCASE("two, the second a moment ago") {
        scene.view.record.claims = 2;
        scene.view.record.is_submitter_gone = true;
        scene.view.record.claim_age = 16;
        CHECK(scene.decide().actions.empty());
        scene.view.record.claim_age = 60;
    }
    SUBCASE("two, with an id, before the record was read and after") {
        scene.with_id("2", "RUNNING").deleted();
        scene.object.status.attempt = 2;
        scene.view.record = {};
        CHECK(find(scene.decide(), Action::Kind::kInquire) != nullptr);
        scene.view.record.was_read = true;
        scene.view.accounted.was_asked = true;
        scene.view.record.claims = 2;
        scene.view.record.is_submitter_gone = true;
        CHECK(scene.decide().actions.empty());
        scene.view.record.claim_age = 60;
    }
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
}

TEST_CASE("an orphan stays, and is not left held") {
    Scene scene;
    scene.object.spec.on_delete = bridge::OnDelete::kOrphan;
    scene.with_id("9", "RUNNING").shows("9", State::kRunning, "RUNNING").deleted();
    auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kLetGo) != nullptr);
    CHECK(find(decision, Action::Kind::kNoteOrphan) != nullptr);
    CHECK(find(decision, Action::Kind::kCancel) == nullptr);
    scene.object.status.state = "Prepared";
    scene.view.queue.jobs[0].state = State::kHeld;
    scene.noted("9");
    CHECK(find(scene.decide(), Action::Kind::kRelease) != nullptr);
    CHECK(find(scene.decide(), Action::Kind::kLetGo) == nullptr);
}

TEST_CASE("an object whose finalizer was taken off by force ends its job, and writes nothing") {
    Scene scene;
    scene.with_id("9", "RUNNING").shows("9", State::kRunning, "RUNNING");
    scene.is_gone = true;
    const auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kCancel) != nullptr);
    CHECK(find(decision, Action::Kind::kWriteStatus) == nullptr);
    scene.view.queue.jobs[0].state = State::kCancelled;
    CHECK(find(scene.decide(), Action::Kind::kForget) != nullptr);
    // While the object is there, the finalizer is put back.
    scene.is_gone = false;
    scene.object.finalizers.clear();
    scene.view.queue.jobs[0].state = State::kRunning;
    CHECK(find(scene.decide(), Action::Kind::kClaim) != nullptr);
}

TEST_CASE("results come before the finalizer goes, and delay a deletion for ten minutes at most") {
    Scene scene;
    scene.with_id("9", "COMPLETED").shows("9", State::kDone, "COMPLETED");
    scene.object.status.set({"Complete", "True", "Completed", "", 1});
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
    scene.object.spec.results = bridge::ResultsRequest{"out", "{}"};
    auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kCollect) != nullptr);
    CHECK(find(decision, Action::Kind::kLetGo) == nullptr);
    scene.memory = decision.memory;
    scene.world.now += scene.world.times.collect;
    CHECK(find(scene.decide(), Action::Kind::kLetGo) == nullptr);
    scene.deleted();
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
    scene.object.deleted = 0;
    scene.object.status.set({"ResultsCollected", "True", "Copied", "", 1});
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
    // A twin that came meanwhile goes first.
    scene.shows("12", State::kHeld, "PENDING");
    CHECK(find(scene.decide(), Action::Kind::kLetGo) == nullptr);
    CHECK(find(scene.decide(), Action::Kind::kCancel) != nullptr);
}

TEST_CASE("a copy that failed is repeated five times within an hour, and not after a deletion") {
    Scene scene;
    scene.with_id("9", "COMPLETED").shows("9", State::kDone, "COMPLETED");
    scene.object.status.set({"Complete", "True", "Completed", "", 1});
    scene.object.spec.results = bridge::ResultsRequest{"out", "{}"};
    const std::int64_t first = scene.world.now;
    std::vector<std::int64_t> begun;
    for (std::int64_t at = first; at < first + 8000; at += 15) {
        scene.world.now = at;
        const auto decision = scene.decide();
        scene.memory = decision.memory;
        const Action* collect = find(decision, Action::Kind::kCollect);
        if (collect == nullptr) {
            continue;
        }
        CHECK(find(decision, Action::Kind::kLetGo) == nullptr);
        if (begun.empty() || begun.back() != collect->begun) {
            begun.push_back(collect->begun);
            continue; // it is under way
        }
        scene.memory.is_collecting = false;
        scene.object.status.set({"ResultsCollected", "False", "CopyFailed", "no space", at});
    }
    CHECK(begun.size() == 6);
    CHECK(begun.back() - begun.front() <= 3600);
    CHECK(begun.back() - begun.front() >= 5 * 600);
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
    // Results come after an end that nothing explains, too.
    Scene lost;
    lost.with_id("9", "RUNNING");
    lost.object.spec.results = scene.object.spec.results;
    lost.object.status.set({"Failed", "True", std::string(bridge::kLeftNoTrace), "", 1});
    CHECK(find(lost.decide(), Action::Kind::kCollect) != nullptr);
    // What was deleted, or cannot be copied for a lasting reason, does not wait.
    scene.world.now = first + 100;
    CHECK(find(scene.decide(), Action::Kind::kLetGo) == nullptr);
    Scene gone = scene;
    gone.deleted();
    CHECK(find(gone.decide(), Action::Kind::kLetGo) != nullptr);
    scene.object.status.set({"ResultsCollected", "False", "RootNotAdmitted", "", first});
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
}

TEST_CASE("an account that was removed from the Bridge: the object says so, and goes when its job "
          "ended") {
    Scene scene;
    scene.with_id("9", "RUNNING").shows("9", State::kRunning, "RUNNING");
    scene.view.has_way = false;
    CHECK(scene.decide().step == bridge::Step::kFollow);
    scene.deleted();
    const auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kCancel) == nullptr);
    const Action* status = find(decision, Action::Kind::kWriteStatus);
    REQUIRE(status != nullptr);
    REQUIRE(status->status.find("Cancelling") != nullptr);
    CHECK(status->status.find("Cancelling")->status == "False");
    CHECK(status->status.find("Cancelling")->reason == bridge::kNoAccount);
    CHECK(find(decision, Action::Kind::kEvent) != nullptr);
    scene.view.queue.jobs[0].state = State::kDone;
    scene.view.queue.jobs[0].native = "COMPLETED";
    CHECK(find(scene.decide(), Action::Kind::kLetGo) != nullptr);
    // Claimed, and the row is gone before anything was submitted.
    Scene early;
    early.claimed();
    early.view.account.clear();
    const auto refused = early.decide();
    status = find(refused, Action::Kind::kWriteStatus);
    REQUIRE(status != nullptr);
    CHECK(status->status.find("Accepted")->reason == bridge::kNoAccount);
}

TEST_CASE("an object that has ended goes after its time") {
    Scene scene;
    scene.with_id("9", "COMPLETED");
    scene.object.finalizers.clear();
    scene.object.status.set({"Complete", "True", "Completed", "", 1950});
    CHECK(scene.decide().actions.empty());
    scene.object.spec.seconds_to_live = 51;
    CHECK(scene.decide().actions.empty());
    scene.object.spec.seconds_to_live = 50;
    CHECK(find(scene.decide(), Action::Kind::kRemove) != nullptr);
}

TEST_CASE("every end has a reason, and those that a requeue may follow are known") {
    for (const bridge::EndRow& row : bridge::end_rows()) {
        CHECK_FALSE(row.reason.empty());
        bridge::SeenJob job;
        job.state = row.state;
        job.native = row.native;
        job.code = 1;
        CHECK(bridge::end_reason(job, false) == row.reason);
        CHECK(bridge::may_be_requeued(job) == row.may_be_requeued);
        CHECK(bridge::is_explained(job));
    }
    bridge::SeenJob lost;
    lost.state = State::kLost;
    CHECK_FALSE(bridge::is_explained(lost));
}

TEST_CASE(
    "the last of the output is read before the end is written, once, and no end waits for it") {
    Scene scene;
    scene.with_id("9", "RUNNING").shows("9", State::kDone, "COMPLETED");
    CHECK(find(scene.decide(), Action::Kind::kReadOutput) == nullptr); // only where it is wanted
    scene.world.reads_tails = true;
    auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kReadOutput) != nullptr);
    CHECK(find(decision, Action::Kind::kWriteStatus) == nullptr);
    scene.view.output = {true, {"/w/a.out", "/w/a.err"}, {"last\n", ""}};
    decision = scene.decide();
    REQUIRE(find(decision, Action::Kind::kWriteStatus) != nullptr);
    CHECK(find(decision, Action::Kind::kWriteStatus)->status.tail.standard_output == "last\n");
    CHECK(find(decision, Action::Kind::kWriteStatus)->status.output.standard_error == "/w/a.err");
    scene.view.output = {true, {}, {}};
    CHECK(find(scene.decide(), Action::Kind::kWriteStatus) != nullptr);
    scene.view.output = {};
    scene.object.spec.results = bridge::ResultsRequest{"out", "{}"}; // they bring it
    CHECK(find(scene.decide(), Action::Kind::kReadOutput) == nullptr);
}
