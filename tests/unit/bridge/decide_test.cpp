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

namespace {

constexpr Stage kStages[] = {Stage::kNew,
                             Stage::kClaimed,
                             Stage::kPrepared,
                             Stage::kLive,
                             Stage::kOver,
                             Stage::kDone,
                             Stage::kElsewhere};
constexpr DesiredState kWishes[] = {
    DesiredState::kKeep, DesiredState::kCancel, DesiredState::kOrphan, DesiredState::kGone};
constexpr SeenState kSights[] = {SeenState::kSilent,
                                 SeenState::kUnsearched,
                                 SeenState::kUnproven,
                                 SeenState::kAbsent,
                                 SeenState::kExhausted,
                                 SeenState::kRefused,
                                 SeenState::kAnswered,
                                 SeenState::kHeld,
                                 SeenState::kAdminHeld,
                                 SeenState::kAlive,
                                 SeenState::kDying,
                                 SeenState::kUnclear,
                                 SeenState::kEnded,
                                 SeenState::kLost};

} // namespace

TEST_CASE("every row of the table is reached, and every combination has one") {
    std::vector<const bridge::StepRow*> reached;
    for (const Stage stage : kStages) {
        for (const DesiredState wish : kWishes) {
            for (const SeenState sight : kSights) {
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
        for (const DesiredState wish : kWishes) {
            for (const SeenState sight : kSights) {
                const Step step = bridge::step_of(stage, wish, sight).step;
                CAPTURE(static_cast<int>(stage));
                CAPTURE(static_cast<int>(wish));
                CAPTURE(static_cast<int>(sight));
                if (step == Step::kSubmit) {
                    CHECK((stage == Stage::kClaimed && wish == DesiredState::kKeep &&
                           sight == SeenState::kAbsent));
                }
                if (step == Step::kRelease) {
                    CHECK((stage == Stage::kPrepared && sight == SeenState::kHeld));
                    CHECK((wish == DesiredState::kKeep || wish == DesiredState::kOrphan));
                }
                if (step == Step::kCancel) {
                    CHECK((wish == DesiredState::kCancel || wish == DesiredState::kGone ||
                           (wish == DesiredState::kOrphan && stage == Stage::kClaimed)));
                }
                const bool is_live = stage == Stage::kPrepared || stage == Stage::kLive;
                if (sight == SeenState::kSilent &&
                    !(stage == Stage::kLive && wish == DesiredState::kOrphan) &&
                    (is_live || stage == Stage::kClaimed)) {
                    CHECK((step == Step::kWait || step == Step::kUnreachable));
                }
                if (step == Step::kLetGo && is_live && wish != DesiredState::kOrphan) {
                    CHECK((sight == SeenState::kEnded || sight == SeenState::kLost ||
                           sight == SeenState::kUnclear));
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
    scene.memory = other.memory; // once, not at each poll
    const auto later = scene.decide();
    CHECK(find(later, Action::Kind::kEvent) == nullptr);
    scene.memory = later.memory;
    CHECK(find(scene.decide(), Action::Kind::kEvent) == nullptr);
}

TEST_CASE("the record is read before the job is let go, and no other one than its own") {
    Scene scene;
    scene.with_id("9", "Prepared").shows("9", State::kHeld, "PENDING");
    CHECK(find(scene.decide(), Action::Kind::kRelease) == nullptr);
    CHECK(find(scene.decide(), Action::Kind::kSearch) != nullptr);
    scene.noted("");
    CHECK(find(scene.decide(), Action::Kind::kRelease)->ids.front() == "9");
    scene.noted("8"); // a late answer: neither was let go
    CHECK(find(scene.decide(), Action::Kind::kRelease)->ids.front() == "9");
    scene.view.record.released = "9";
    CHECK(find(scene.decide(), Action::Kind::kRelease) != nullptr);
    // A backup brought back an object with the id of another job, which was never let go.
    scene.view.record.released = "8";
    CHECK(find(scene.decide(), Action::Kind::kRelease) == nullptr);
    CHECK(written(scene.decide()).job_id == "8");
    // So does a status that an administrator has changed.
    scene.object.status.state = "RUNNING";
    scene.view.queue.jobs.clear();
    CHECK(written(scene.decide()).job_id == "8");
    scene.view.record.released = "9";
    CHECK(find(scene.decide(), Action::Kind::kWriteStatus) == nullptr);
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
