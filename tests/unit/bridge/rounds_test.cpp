// SPDX-License-Identifier: Apache-2.0
#include "bridge/rounds/rounds.hpp"
#include "peace.hpp"

#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

using namespace cybele;
using peace::CountingCluster;
using peace::kOne;
using peace::Peace;

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

TEST_CASE(
    "a round names the jobs whose uid is no object's, and not those of objects that it knows") {
    Peace peace;
    peace.create();
    peace.late_job().token = "00000000-0000-4000-8000-000000000009";
    model::Job ended;
    ended.id = "100";
    ended.owner = "alice";
    ended.token = "00000000-0000-4000-8000-000000000008";
    ended.state = submission::State::kDone;
    peace.cluster.jobs.push_back(ended);
    const auto report = peace.round();
    REQUIRE(report.unknown_jobs.size() == 1);
    CHECK(report.unknown_jobs[0].id == "99");
    REQUIRE(peace.cluster.jobs.size() == 3);
    CHECK(peace.cluster.jobs[0].state == submission::State::kHeld); // it is left alone
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

TEST_CASE("of many objects that were deleted those that left last are known") {
    constexpr int kMany = 10'001;
    Peace peace;
    const auto uid_of = [](int at) {
        std::string uid = kOne;
        const std::string number = std::to_string(at);
        return uid.replace(uid.size() - number.size(), number.size(), number);
    };
    for (int at = 2; at < kMany + 2; ++at) {
        bridge::Object object;
        object.uid = uid_of(at);
        object.finalizers = {std::string(bridge::kFinalizer)};
        peace.rounds.put(object);
        peace.rounds.gone(object.uid);
    }
    peace.round();
    peace.create();
    peace.round();
    peace.server.remove_by_user(kOne);
    peace.round();
    peace.round();
    model::Job& late = peace.late_job();
    peace.round();
    CHECK(late.state == submission::State::kCancelled);
}

TEST_CASE("a bridge that did not see that a backup was restored releases no second job") {
    Peace peace;
    peace.create();
    bridge::Object& stored = peace.server.objects.at(kOne);
    stored.finalizers = {std::string(bridge::kFinalizer)};
    const bridge::Object backup = stored;
    peace.late_job().reason = "JobHeldAdmin"; // so that nothing is released yet
    peace.round();
    REQUIRE(stored.status.job_id == "99");
    // The backup does not know this id. Another bridge finds another job, releases it and is
    // killed before it ends the first one.
    stored = backup;
    peace.late_job().id = "98";
    bridge::Rounds others([](const bridge::Object&) {
        return bridge::Admitted{"alice", std::nullopt};
    });
    others.put(backup);
    bridge::World now;
    now.now = peace.world.now;
    others.round(peace.server, peace.cluster, now);
    REQUIRE(peace.cluster.committed[kOne] == std::set<std::string>{"98"});
    peace.cluster.jobs[0].state = submission::State::kHeld;
    peace.cluster.jobs[0].reason = "JobHeldUser";
    peace.cluster.jobs[0].ended = 0;
    // The watch of the first one is late.
    (void)peace.rounds.round(peace.server, peace.cluster, now);
    CHECK(peace.cluster.committed[kOne] == std::set<std::string>{"98"});
    CHECK(stored.status.job_id == "98");
    CHECK(peace.world.broken.empty());
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

TEST_CASE("of two clusters that give the same id one runs the job, and the other ends its own") {
    Peace peace;
    model::Cluster there(peace.world);
    bridge::Rounds others([](const bridge::Object&) {
        return bridge::Admitted{"alice", std::nullopt};
    });
    peace.create();
    bridge::Object& object = peace.server.objects.at(kOne);
    object.finalizers = {std::string(bridge::kFinalizer)}; // of a claim, whichever bridge made it
    const bridge::Object early = object;
    bridge::World here;
    here.now = peace.world.now;
    here.site = "hall-a";
    bridge::World elsewhere = here;
    elsewhere.site = "hall-b";
    // Both saw an object without an id.
    peace.rounds.put(early);
    peace.rounds.round(peace.server, peace.cluster, here);
    others.put(early);
    const auto report = others.round(peace.server, there, elsewhere);
    REQUIRE(report.must_read.contains(kOne));
    REQUIRE(there.jobs.size() == 1);
    REQUIRE(there.jobs[0].id == peace.cluster.jobs[0].id);
    CHECK(object.status.site == "hall-a");
    for (int round = 0; round < 3; ++round) {
        others.put(object);
        others.round(peace.server, there, elsewhere);
    }
    CHECK(there.committed.empty());
    CHECK(there.jobs[0].state == submission::State::kCancelled);
    CHECK(there.jobs.size() == 1);
    CHECK(peace.cluster.committed[kOne].size() == 1);
    // Its end, its deletion and its results are the other bridge's.
    CHECK_FALSE(object.status.holds("Failed"));
    object.deleted = peace.world.now;
    peace.server.stamp(object);
    others.put(object);
    others.round(peace.server, there, elsewhere);
    CHECK(object.has_finalizer());
    CHECK_FALSE(peace.cluster.jobs[0].is_over());
}

namespace {

/// Of how many objects the writes come together.
class TogetherServer : public model::Server {
public:
    using model::Server::Server;

    std::vector<bridge::Written> write_all(const std::vector<bridge::ObjectWrite>& all) override {
        together.push_back(all.size());
        return model::Server::write_all(all);
    }
    std::vector<std::size_t> together;
};

} // namespace

TEST_CASE("the writes of many objects are sent together, and those of each one after the other") {
    Peace peace;
    TogetherServer server(peace.world);
    server.runs = [](const std::string&) { return false; };
    constexpr std::size_t kObjects = 60;
    for (std::size_t one = 0; one < kObjects; ++one) {
        peace.create("00000000-0000-4000-8000-0000000000" + std::to_string(one + 10));
    }
    server.objects = peace.server.objects;
    server.revision = peace.server.revision;
    bridge::World now;
    now.now = peace.world.now;
    const auto round = [&] {
        for (const auto& [uid, object] : server.objects) {
            peace.rounds.put(object);
        }
        (void)peace.rounds.round(server, peace.cluster, now);
        return std::exchange(server.together, {});
    };
    // Finalizers and ids; the first 50 do not wait for the last ones.
    CHECK(round() == std::vector<std::size_t>{50, 50, 10, 10});
    CHECK(peace.cluster.committed.size() == kObjects);
    CHECK(round() == std::vector<std::size_t>{50, 10}); // what the queue shows
    for (model::Job& job : peace.cluster.jobs) {
        job.state = submission::State::kDone;
        job.native = "COMPLETED";
        job.ended = peace.world.now;
    }
    // The ends, then the finalizers.
    CHECK(round() == std::vector<std::size_t>{50, 10, 60});
    for (const auto& [uid, object] : server.objects) {
        CHECK(object.status.holds("Complete"));
        CHECK_FALSE(object.has_finalizer());
    }
    CHECK(round().empty());
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

TEST_CASE("jobs that the queue does not show are asked for together, each poll once") {
    Peace peace;
    constexpr int kJobs = 30;
    for (int one = 0; one < kJobs; ++one) {
        peace.create("00000000-0000-4000-8000-0000000000" + std::to_string(one + 10));
    }
    peace.round();
    peace.round();
    for (model::Job& job : peace.cluster.jobs) {
        job.state = submission::State::kFailed;
        job.native = "FAILED";
        job.code = 3;
        job.ended = peace.world.now;
        job.is_purged = true;
    }
    peace.round();
    CHECK(peace.world.counts["inquiries"] == 1);
    for (const auto& [uid, object] : peace.server.objects) {
        CHECK(object.status.holds("Failed"));
        CHECK(object.status.exit_code == 3);
    }
}

TEST_CASE(
    "jobs that queue and accounting do not show cost one inquiry per poll, and then are lost") {
    Peace peace;
    peace.cluster.has_accounting = false;
    constexpr int kJobs = 30;
    for (int one = 0; one < kJobs; ++one) {
        peace.create("00000000-0000-4000-8000-0000000000" + std::to_string(one + 10));
    }
    peace.round();
    peace.round();
    peace.cluster.jobs.clear();
    int polls = 0;
    for (; polls < 100 && !peace.server.objects.begin()->second.status.holds("Failed"); ++polls) {
        peace.round();
        peace.world.now += 15;
    }
    CHECK(peace.world.counts["inquiries"] == static_cast<std::uint64_t>(polls));
    CHECK(polls >= 20); // five minutes
    for (const auto& [uid, object] : peace.server.objects) {
        CHECK(object.status.find("Failed")->reason == "LeftNoTrace");
    }
}

TEST_CASE("the records of many objects are read together, and their jobs handed over together") {
    Peace peace;
    CountingCluster cluster(peace.world);
    constexpr int kJobs = 30;
    for (int one = 0; one < kJobs; ++one) {
        peace.create("00000000-0000-4000-8000-0000000000" + std::to_string(one + 10));
    }
    for (const auto& [uid, object] : peace.server.objects) {
        peace.rounds.put(object);
    }
    bridge::World now;
    now.now = peace.world.now;
    (void)peace.rounds.round(peace.server, cluster, now);
    CHECK(cluster.searched == std::vector<std::string>{"alice 30"});
    CHECK(cluster.submitted == std::vector<std::string>{"alice 30"});
    CHECK(cluster.jobs.size() == kJobs);
    for (const model::Job& job : cluster.jobs) {
        CHECK(job.state == submission::State::kPending);
        CHECK(peace.server.objects.at(job.token).status.job_id == job.id);
    }
}

TEST_CASE("the ends of jobs are written before finalizers, Events and hand-overs") {
    Peace peace;
    constexpr std::size_t kJobs = 10;
    for (std::size_t one = 0; one < kJobs; ++one) {
        peace.create("00000000-0000-4000-8000-0000000000" + std::to_string(one + 10));
    }
    peace.round();
    peace.round();
    for (std::size_t one = 0; one < kJobs; ++one) {
        model::Job& job = peace.cluster.jobs[one];
        job.state = submission::State::kDone;
        job.native = "COMPLETED";
        job.ended = peace.world.now;
    }
    peace.create(); // its uid comes first
    peace.server.order.clear();
    const std::size_t events = peace.world.counts["events"];
    peace.round();
    CHECK(peace.server.order.substr(0, kJobs) == std::string(kJobs, 's'));
    CHECK(std::count(peace.server.order.begin(), peace.server.order.end(), 'l') == kJobs);
    CHECK(peace.server.order.find('e') >= kJobs);
    CHECK(peace.world.counts["events"] == events + kJobs + 1);
}

TEST_CASE("outputs of jobs that ended, also of those that the queue forgot, are read together") {
    Peace peace;
    CountingCluster cluster(peace.world);
    constexpr std::size_t kJobs = 10;
    for (std::size_t one = 0; one < kJobs; ++one) {
        peace.create("00000000-0000-4000-8000-0000000000" + std::to_string(one + 10));
    }
    const auto round = [&] {
        for (const auto& [uid, object] : peace.server.objects) {
            peace.rounds.put(object);
        }
        bridge::World now;
        now.now = peace.world.now;
        now.reads_tails = true;
        (void)peace.rounds.round(peace.server, cluster, now);
    };
    round();
    round();
    for (std::size_t one = 0; one < kJobs; ++one) {
        model::Job& job = cluster.jobs[one];
        job.state = submission::State::kDone;
        job.native = "COMPLETED";
        job.ended = peace.world.now;
        job.is_purged = one % 2 == 0;
    }
    round();
    CHECK(cluster.read == std::vector<std::size_t>{kJobs / 2, kJobs / 2});
    for (const auto& [uid, object] : peace.server.objects) {
        CHECK(object.status.holds("Complete"));
        CHECK(object.status.tail.standard_output == "of " + uid);
    }
}
