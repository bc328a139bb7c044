// SPDX-License-Identifier: Apache-2.0
#include "bridge/decide.hpp"
#include "bridge/ends.hpp"
#include "bridge/refusals.hpp"

#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

using namespace cybele;
using bridge::Action;
using bridge::Sight;
using bridge::Stage;
using bridge::Step;
using bridge::Wish;
using submission::State;

namespace {

constexpr const char* kUid = "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab";

/// An object and what is seen of it, which a case changes.
struct Scene {
    bridge::Object object;
    bridge::View view;
    bridge::Memory memory;
    bridge::World world;
    bool is_gone = false;

    Scene() {
        object.space = "physics";
        object.name = "hello";
        object.uid = kUid;
        object.generation = 1;
        object.created = 1000;
        object.spec.batch = "#!/bin/sh\n";
        world.now = 2000;
        view.account = "alice";
        view.queue.is_complete = true;
    }
    Scene& claimed() {
        object.finalizers = {std::string(bridge::kFinalizer)};
        return *this;
    }
    Scene& with_id(const std::string& id, const std::string& state) {
        claimed();
        object.status.job_id = id;
        object.status.token = kUid;
        object.status.account = "alice";
        object.status.state = state;
        object.status.set({"Accepted", "True", "Admitted", "", 1});
        return *this;
    }
    Scene& shows(const std::string& id, State state, const std::string& native) {
        bridge::SeenJob job;
        job.id = id;
        job.owner = "alice";
        job.token = kUid;
        job.state = state;
        job.native = native;
        view.queue.jobs.push_back(job);
        return *this;
    }
    Scene& deleted() {
        object.deleted = 1900;
        return *this;
    }
    /// The record has the id.
    Scene& noted(const std::string& id) {
        view.record.was_read = true;
        view.record.answer = id;
        return *this;
    }
    [[nodiscard]] bridge::Decision decide() const {
        return bridge::decide({object, view, memory, world, is_gone});
    }
};

const Action* find(const bridge::Decision& decision, Action::Kind kind) {
    const auto& actions = decision.actions;
    const auto found = std::find_if(actions.begin(), actions.end(), [kind](const Action& action) {
        return action.kind == kind;
    });
    return found == actions.end() ? nullptr : &*found;
}

const bridge::Status& written(const bridge::Decision& decision) {
    const Action* action = find(decision, Action::Kind::kWriteStatus);
    REQUIRE(action != nullptr);
    return action->status;
}

constexpr Stage kStages[] = {
    Stage::kNew, Stage::kClaimed, Stage::kPrepared, Stage::kLive, Stage::kOver, Stage::kDone};
constexpr Wish kWishes[] = {Wish::kKeep, Wish::kCancel, Wish::kOrphan, Wish::kGone};
constexpr Sight kSights[] = {Sight::kSilent,
                             Sight::kUnsearched,
                             Sight::kUnproven,
                             Sight::kAbsent,
                             Sight::kExhausted,
                             Sight::kRefused,
                             Sight::kAnswered,
                             Sight::kHeld,
                             Sight::kAdminHeld,
                             Sight::kAlive,
                             Sight::kDying,
                             Sight::kUnclear,
                             Sight::kEnded,
                             Sight::kLost};

} // namespace

TEST_CASE("every row of the table is reached, and every combination has one") {
    std::vector<const bridge::StepRow*> reached;
    for (const Stage stage : kStages) {
        for (const Wish wish : kWishes) {
            for (const Sight sight : kSights) {
                const bridge::StepRow& row = bridge::step_of(stage, wish, sight);
                CHECK(row.why != "no row of the table");
                reached.push_back(&row);
            }
        }
    }
    for (const bridge::StepRow& row : bridge::step_rows()) {
        CAPTURE(row.why);
        CHECK(std::find(reached.begin(), reached.end(), &row) != reached.end());
    }
}

TEST_CASE("the table keeps the rules that no row may break") {
    for (const Stage stage : kStages) {
        for (const Wish wish : kWishes) {
            for (const Sight sight : kSights) {
                const Step step = bridge::step_of(stage, wish, sight).step;
                CAPTURE(static_cast<int>(stage));
                CAPTURE(static_cast<int>(wish));
                CAPTURE(static_cast<int>(sight));
                if (step == Step::kSubmit) {
                    CHECK((stage == Stage::kClaimed && wish == Wish::kKeep &&
                           sight == Sight::kAbsent));
                }
                if (step == Step::kRelease) {
                    CHECK((stage == Stage::kPrepared && sight == Sight::kHeld));
                    CHECK((wish == Wish::kKeep || wish == Wish::kOrphan));
                }
                if (step == Step::kCancel) {
                    CHECK((wish == Wish::kCancel || wish == Wish::kGone ||
                           (wish == Wish::kOrphan && stage == Stage::kClaimed)));
                }
                const bool is_live = stage == Stage::kPrepared || stage == Stage::kLive;
                if (sight == Sight::kSilent && !(stage == Stage::kLive && wish == Wish::kOrphan) &&
                    (is_live || stage == Stage::kClaimed)) {
                    CHECK((step == Step::kWait || step == Step::kUnreachable));
                }
                if (step == Step::kLetGo && is_live && wish != Wish::kOrphan) {
                    CHECK((sight == Sight::kEnded || sight == Sight::kLost ||
                           sight == Sight::kUnclear));
                }
            }
        }
    }
}

TEST_CASE("a new object is claimed, and searched for before any hand-over") {
    Scene scene;
    CHECK(find(scene.decide(), Action::Kind::kClaim) != nullptr);
    scene.claimed();
    CHECK(scene.decide().step == Step::kSearch);
    scene.view.record.was_read = true;
    const auto decision = scene.decide();
    REQUIRE(find(decision, Action::Kind::kSubmit) != nullptr);
    CHECK(find(decision, Action::Kind::kSubmit)->attempt == 1);
}

TEST_CASE("without the Lease nothing is done, and after a rewind nothing is handed over") {
    Scene scene;
    scene.world.is_leader = false;
    CHECK(scene.decide().actions.empty());
    scene.world.is_leader = true;
    scene.world.is_rewound = true;
    CHECK(scene.decide().actions.empty());
    scene.claimed().view.record.was_read = true;
    CHECK(scene.decide().step == Step::kSubmit);
    CHECK(scene.decide().actions.empty());
    scene.with_id("7", "Prepared").shows("7", State::kHeld, "PENDING").noted("7");
    CHECK(find(scene.decide(), Action::Kind::kRelease) != nullptr);
}

TEST_CASE("an object older than the records waits for an administrator") {
    Scene scene;
    scene.world.now = scene.object.created + scene.world.times.keep_records + 1;
    const auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kClaim) == nullptr);
    CHECK(written(decision).find("Accepted")->status == "Unknown");
    CHECK(written(decision).reason == bridge::kTooOldToBeSure);
    scene.object.status.set({"Accepted", "True", "AcceptedByAdmin", "", 1});
    CHECK(find(scene.decide(), Action::Kind::kClaim) != nullptr);
}

TEST_CASE("a refused object has its reason, once, and is not claimed") {
    Scene scene;
    scene.view.refusal = bridge::Refusal{std::string(bridge::kQueueLimit), "4 nodes of 2"};
    auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kClaim) == nullptr);
    CHECK(written(decision).find("Accepted")->status == "False");
    CHECK(written(decision).find("Accepted")->message.find("4 nodes of 2") == 0);
    CHECK(written(decision).find("Failed") == nullptr);
    scene.object.status = written(decision);
    CHECK(scene.decide().actions.empty());
    scene.object.status = {};
    scene.object.refusal = bridge::Refusal{std::string(bridge::kScriptNotText), "NUL"};
    CHECK(written(scene.decide()).holds("Failed"));
    scene.object.refusal.reset();
    scene.view.refusal.reset();
    scene.view.account.clear();
    CHECK(written(scene.decide()).reason == bridge::kNoAccount);
}

TEST_CASE("absence counts after two complete answers, a gone submitter and the cluster's minute") {
    Scene scene;
    scene.claimed();
    scene.view.record.was_read = true;
    scene.view.record.claims = 1;
    scene.view.record.is_submitter_gone = true;
    scene.view.record.claim_age = 60;
    scene.memory.absences = 2;
    CHECK(find(scene.decide(), Action::Kind::kSubmit)->attempt == 2);
    const std::function<void(Scene&)> lacks[] = {
        [](Scene& one) { one.view.record.claim_age = 59; },
        [](Scene& one) { one.view.record.is_submitter_gone = false; },
        [](Scene& one) { one.memory.absences = 1; },
        [](Scene& one) { one.view.queue.is_complete = false; },
    };
    for (const auto& lack : lacks) {
        Scene other = scene;
        lack(other);
        CHECK(other.decide().actions.empty());
    }
    scene.view.record.claims = 3;
    const auto decision = scene.decide();
    CHECK(written(decision).find("Failed")->reason == bridge::kSubmissionUnclear);
}

TEST_CASE("a job that is found is recorded: one that was let go first, then the lowest id") {
    Scene scene;
    scene.claimed().shows("10", State::kHeld, "PENDING").shows("9", State::kHeld, "PENDING");
    CHECK(scene.decide().step == Step::kSearch);
    scene.noted("");
    CHECK(written(scene.decide()).job_id == "9");
    scene.noted("10");
    CHECK(written(scene.decide()).job_id == "10");
    scene.noted("4"); // purged from the queue
    CHECK(written(scene.decide()).job_id == "4");
    scene.shows("11", State::kRunning, "RUNNING");
    const auto status = written(scene.decide());
    CHECK(status.job_id == "11");
    CHECK(status.state == "Prepared");
    CHECK(status.token == kUid);
    CHECK(status.account == "alice");
    CHECK(status.holds("Submitted"));
}

TEST_CASE("an answer in the record is adopted, and an end in it too") {
    Scene scene;
    scene.claimed().view.record = {true, false, 1, true, 5, "12", "", {}};
    CHECK(written(scene.decide()).job_id == "12");
    scene.view.record.answer.clear();
    scene.view.record.end = bridge::SeenJob();
    scene.view.record.end->state = State::kDone;
    CHECK(written(scene.decide()).job_id == "0");
}

TEST_CASE("words of refusal are final") {
    Scene scene;
    scene.claimed().view.record = {true, false, 1, true, 0, "", "Invalid partition", {}};
    const auto status = written(scene.decide());
    CHECK(status.find("Failed")->reason == bridge::kRefusedBySystem);
    CHECK(status.find("Failed")->message == "Invalid partition");
    CHECK(status.phase == "Failed");
}

TEST_CASE("only the id of the object is released, and others that are held are cancelled") {
    Scene scene;
    scene.with_id("9", "Prepared").shows("9", State::kHeld, "PENDING").noted("9");
    scene.shows("12", State::kHeld, "PENDING");
    const auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kRelease)->ids == std::vector<std::string>{"9"});
    CHECK(find(decision, Action::Kind::kCancel)->ids == std::vector<std::string>{"12"});
    // A second job that runs is reported, and left alone.
    scene.view.queue.jobs.back().state = State::kRunning;
    const auto other = scene.decide();
    CHECK(find(other, Action::Kind::kCancel) == nullptr);
    CHECK(find(other, Action::Kind::kEvent)->event.reason == "SecondJob");
}

TEST_CASE("the record has the id before the job is let go") {
    Scene scene;
    scene.with_id("9", "Prepared").shows("9", State::kHeld, "PENDING");
    CHECK(find(scene.decide(), Action::Kind::kRelease) == nullptr);
    CHECK(find(scene.decide(), Action::Kind::kSearch) != nullptr);
    scene.noted("");
    CHECK(find(scene.decide(), Action::Kind::kRelease) == nullptr);
    CHECK(find(scene.decide(), Action::Kind::kNoteAnswer)->ids.front() == "9");
    scene.noted("9");
    CHECK(find(scene.decide(), Action::Kind::kRelease) != nullptr);
}

TEST_CASE("an object that came back with a backup after its deletion is not handed over") {
    Scene scene;
    scene.claimed().view.record = {true, true, 0, true, 0, "", "", {}};
    CHECK(written(scene.decide()).find("Failed")->reason == bridge::kRewound);
}

TEST_CASE("a hold is a person's once the job was seen released") {
    Scene scene;
    scene.with_id("9", "PENDING").shows("9", State::kHeld, "PENDING");
    scene.view.queue.jobs[0].reason = "JobHeldUser";
    const auto decision = scene.decide();
    CHECK(find(decision, Action::Kind::kRelease) == nullptr);
    CHECK(written(decision).state == "Held");
    Scene admin;
    admin.with_id("9", "Prepared").shows("9", State::kHeld, "PENDING");
    admin.view.queue.jobs[0].reason = "JobHeldAdmin";
    CHECK(find(admin.decide(), Action::Kind::kRelease) == nullptr);
    CHECK(written(admin.decide()).state == "Prepared");
    CHECK(written(admin.decide()).reason == "JobHeldAdmin");
}

TEST_CASE("a job of another owner or with another token is never the object's") {
    Scene scene;
    scene.with_id("9", "Prepared").shows("9", State::kHeld, "PENDING");
    scene.view.queue.jobs[0].owner = "mallory";
    CHECK(scene.decide().step == Step::kInquire);
    scene.view.queue.jobs[0].owner = "alice";
    scene.view.queue.jobs[0].token = "00000000-0000-4000-8000-000000000000";
    CHECK(scene.decide().step == Step::kInquire);
    // A comment that was erased is covered by the record.
    scene.view.queue.jobs[0].token.clear();
    CHECK(scene.decide().step == Step::kInquire);
    scene.view.record = {true, false, 1, true, 5, "9", "", {}};
    CHECK(scene.decide().step == Step::kRelease);
    // The number came again for a job that began at another time.
    scene.object.status.state = "RUNNING";
    scene.object.status.started = 100;
    scene.view.queue.jobs[0].started = 500;
    CHECK(scene.decide().step == Step::kInquire);
}

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
    scene.object.spec.results = bridge::ResultsWish{"out", "{}"};
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
