// SPDX-License-Identifier: Apache-2.0
#include "bridge/rounds.hpp"
#include "model.hpp"

#include <doctest/doctest.h>

using namespace cybele;

namespace {

constexpr const char* kOne = "00000000-0000-4000-8000-000000000001";

/// A bridge without faults.
struct Peace {
    model::World world{1};
    model::Cluster cluster{world};
    model::Server server{world};
    bridge::Rounds rounds{[](const bridge::Object&) {
        return bridge::Admitted{"alice", std::nullopt};
    }};

    Peace() {
        world.has_faults = false;
        server.runs = [](const std::string&) { return false; };
    }
    void create() {
        bridge::Object object;
        object.uid = kOne;
        object.space = "physics";
        object.name = "hello";
        object.created = world.now;
        server.stamp(object);
        server.objects[kOne] = object;
    }
    bridge::RoundReport round() {
        for (const auto& [uid, object] : server.objects) {
            rounds.put(object);
        }
        for (const std::string& uid : server.deleted) {
            rounds.gone(uid);
        }
        bridge::World now;
        now.now = world.now;
        return rounds.round(server, cluster, now);
    }
    model::Job& late_job() {
        model::Job job;
        job.id = "99";
        job.owner = "alice";
        job.token = kOne;
        cluster.jobs.push_back(job);
        return cluster.jobs.back();
    }
};

} // namespace

TEST_CASE("one round claims, hands over, records and releases") {
    Peace peace;
    peace.create();
    const auto report = peace.round();
    CHECK(report.objects == 1);
    CHECK(report.is_complete);
    CHECK(report.must_read.empty());
    REQUIRE(peace.cluster.jobs.size() == 1);
    CHECK(peace.cluster.jobs[0].state == submission::State::kPending);
    CHECK(peace.server.objects.at(kOne).status.job_id == peace.cluster.jobs[0].id);
    CHECK(peace.world.counts["polls"] == 1);
    CHECK(peace.world.counts["writes"] == 2); // finalizer, id
    peace.round();
    CHECK(peace.world.counts["writes"] == 3); // what the queue shows
    peace.round();
    CHECK(peace.world.counts["writes"] == 3);
    CHECK(peace.cluster.jobs.size() == 1);
}

TEST_CASE("a late job of an object that was deleted is ended, and none of one that came back") {
    Peace peace;
    peace.create();
    peace.round();
    peace.server.remove_by_user(kOne);
    peace.round();
    peace.round();
    REQUIRE(peace.server.objects.empty());
    model::Job& late = peace.late_job();
    peace.round();
    CHECK(late.state == submission::State::kCancelled);
    // A backup is restored in which the object runs this job.
    bridge::Object restored;
    restored.uid = kOne;
    restored.finalizers = {std::string(bridge::kFinalizer)};
    restored.status.job_id = "99";
    restored.status.token = kOne;
    restored.status.account = "alice";
    restored.status.state = "RUNNING";
    late.state = submission::State::kRunning;
    late.ended = 0;
    peace.server.deleted.clear();
    peace.server.stamp(restored);
    peace.server.objects[kOne] = restored;
    peace.round();
    CHECK(late.state == submission::State::kRunning);
}

TEST_CASE("an object that is merely missing from a list keeps its job") {
    Peace peace;
    peace.create();
    peace.round();
    peace.server.objects.clear();
    peace.rounds.keep_only({});
    peace.round();
    CHECK(peace.rounds.find(kOne) == nullptr);
    CHECK_FALSE(peace.cluster.jobs[0].is_over());
}

TEST_CASE("after a conflict nothing more is done on the old object") {
    Peace peace;
    peace.create();
    bridge::Object stale = peace.server.objects.at(kOne);
    peace.server.stamp(peace.server.objects.at(kOne));
    peace.rounds.put(stale);
    bridge::World now;
    now.now = peace.world.now;
    const auto report = peace.rounds.round(peace.server, peace.cluster, now);
    CHECK(report.must_read.contains(kOne));
    CHECK(peace.cluster.jobs.empty());
}

TEST_CASE("the batch system is asked at most four times a minute, and less when it is slow") {
    using std::chrono::milliseconds;
    CHECK(bridge::pause_after(milliseconds(15000), milliseconds(240)) == milliseconds(15000));
    CHECK(bridge::pause_after(milliseconds(15000), milliseconds(4600)) == milliseconds(27600));
}
