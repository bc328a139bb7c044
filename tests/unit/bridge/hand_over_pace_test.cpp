// SPDX-License-Identifier: Apache-2.0
#include "bridge/rounds/hand_over_pace.hpp"
#include "peace.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include <doctest/doctest.h>

using namespace cybele;
using peace::CountingCluster;
using peace::kOne;
using peace::Peace;

namespace {

constexpr std::chrono::milliseconds kPauseOfPace{5'000};

std::vector<launchers::BridgeAccount> one_by_ssh(const std::string& account) {
    launchers::BridgeAccount row;
    row.account = account;
    row.way.ssh = "head";
    return {row};
}

/// A cluster where each hand-over takes time, and the first job may end meanwhile.
class SlowCluster : public CountingCluster {
public:
    SlowCluster(model::World& world, std::chrono::milliseconds each)
        : CountingCluster(world), each_(each) {}

    std::vector<bridge::RecordObservation>
    search_many(const std::vector<const bridge::Object*>& all,
                const std::string& /*account*/) override {
        return CountingCluster::search_many(all, "alice"); // the model has no other account
    }
    std::vector<bridge::RecordObservation> submit_many(const std::vector<bridge::HandOver>& all,
                                                       const std::string& account) override {
        auto sights = CountingCluster::submit_many(all, "alice");
        for (model::Job& job : jobs) {
            const bool is_new = std::any_of(all.begin(), all.end(), [&](const auto& one) {
                return one.object->uid == job.token;
            });
            job.owner = is_new ? account : job.owner;
        }
        if (ends_first && !jobs.empty()) {
            model::Job& job = jobs.front();
            job.state = submission::State::kDone;
            job.native = "COMPLETED";
            job.ended = 1;
        }
        now += each_ * static_cast<int>(all.size());
        if (meanwhile) {
            meanwhile();
        }
        return sights;
    }
    std::chrono::milliseconds now{1'000};
    bool ends_first = false;
    std::function<void()> meanwhile; ///< before the answer of a round trip

private:
    std::chrono::milliseconds each_;
};

} // namespace

TEST_CASE("when the next poll is due, further hand-overs wait for the next round") {
    Peace peace;
    SlowCluster cluster(peace.world, std::chrono::milliseconds{100});
    bridge::HandOverPace pace(
        one_by_ssh("alice"), [&] { return cluster.now; }, [] { return kPauseOfPace; });
    constexpr std::size_t kJobs = 120;
    for (std::size_t one = 0; one < kJobs; ++one) {
        peace.create("00000000-0000-4000-8000-000000000" + std::to_string(one + 100));
    }
    for (const auto& [uid, object] : peace.server.objects) {
        peace.rounds.put(object);
    }
    bridge::World now;
    now.now = peace.world.now;
    for (const std::size_t handed_over : {50U, 100U, 120U}) {
        (void)pace.begin();
        (void)peace.rounds.round(peace.server, cluster, now, &pace);
        CHECK(cluster.jobs.size() == handed_over);
    }
}

TEST_CASE("while many objects are handed over by ssh, the end of another job is written") {
    bool is_meanwhile = false;
    SUBCASE("after a round trip") {}
    SUBCASE("during a round trip") {
        is_meanwhile = true;
    }
    Peace peace;
    SlowCluster cluster(peace.world, std::chrono::milliseconds{250});
    bridge::HandOverPace pace(
        one_by_ssh("alice"), [&] { return cluster.now; }, [] { return kPauseOfPace; });
    bridge::World now;
    const auto round = [&] {
        for (const auto& [uid, object] : peace.server.objects) {
            peace.rounds.put(object);
        }
        now.now = peace.world.now;
        (void)pace.begin();
        (void)peace.rounds.round(peace.server, cluster, now, &pace);
    };
    peace.create();
    round();
    round();
    pace.begin_hand_overs();
    cluster.now += std::chrono::milliseconds{250};
    pace.handed("alice", 1); // so long each takes
    constexpr std::size_t kJobs = 50;
    for (std::size_t one = 0; one < kJobs; ++one) {
        peace.create("00000000-0000-4000-8000-0000000001" + std::to_string(one + 10));
    }
    cluster.ends_first = true;
    bool was_shown = false;
    if (is_meanwhile) {
        cluster.meanwhile = [&] {
            peace.rounds.meanwhile();
            was_shown = peace.server.objects.at(kOne).status.holds("Complete");
            peace.rounds.meanwhile(); // no poll is due
        };
    }
    cluster.submitted.clear();
    cluster.searched.clear();
    const std::uint64_t polls = peace.world.counts["polls"];
    const std::size_t order = peace.server.order.size();
    round();
    // One round trip of 50 takes 12.5 seconds, so that a poll is due after it.
    CHECK(cluster.searched == std::vector<std::string>{"alice 50"});
    CHECK(cluster.submitted == std::vector<std::string>{"alice 50"});
    CHECK(peace.world.counts["polls"] == polls + 2);
    CHECK(peace.server.objects.at(kOne).status.holds("Complete"));
    CHECK(cluster.jobs.size() == kJobs + 1);
    CHECK(was_shown == is_meanwhile);
    // The end, and then the ids.
    CHECK(peace.server.order.substr(order, 3) == "ses");
    CHECK(std::count(peace.server.order.begin(), peace.server.order.end(), 'l') == 1);
}

TEST_CASE("an account that hands over slowly by ssh does not bound what the others hand over") {
    Peace peace;
    SlowCluster cluster(peace.world, std::chrono::milliseconds{1'000});
    bridge::Rounds rounds([](const bridge::Object& object) {
        return bridge::Admitted{object.uid.ends_with('0') ? "slow" : "alice", std::nullopt};
    });
    bridge::HandOverPace pace(
        one_by_ssh("slow"), [&] { return cluster.now; }, [] { return kPauseOfPace; });
    constexpr std::size_t kJobs = 1'000;
    for (std::size_t one = 0; one < kJobs; ++one) {
        peace.create("00000000-0000-4000-8000-00000000" + std::to_string(one + 1'000));
    }
    bridge::World now;
    now.now = peace.world.now;
    std::size_t of_slow = 0;
    std::size_t of_alice = 0;
    for (int round = 0; round < 200 && of_slow + of_alice < kJobs; ++round) {
        for (const auto& [uid, object] : peace.server.objects) {
            rounds.put(object);
        }
        (void)pace.begin();
        (void)rounds.round(peace.server, cluster, now, &pace);
        std::size_t slow = 0;
        std::size_t alice = 0;
        for (const auto& [uid, object] : peace.server.objects) {
            slow += object.status.account == "slow" ? 1U : 0U;
            alice += object.status.account == "alice" ? 1U : 0U;
        }
        CHECK(slow <= of_slow + 50);
        CHECK(alice <= of_alice + 50);
        CHECK((slow > of_slow || slow == kJobs / 10));
        CHECK((alice > of_alice || alice == kJobs * 9 / 10));
        of_slow = slow;
        of_alice = alice;
    }
    CHECK(of_slow + of_alice == kJobs);
}

TEST_CASE("as many objects are handed over together as the time until the next poll allows") {
    std::chrono::milliseconds now{1'000};
    bridge::HandOverPace pace(
        one_by_ssh("bob"), [&] { return now; }, [] { return kPauseOfPace; });
    (void)pace.begin();
    pace.begin_hand_overs();
    CHECK(pace.room("alice") == 37); // at first a tenth of a second for each, in 3/4 of the time
    CHECK(pace.room("bob") == 50);   // few logins
    now += std::chrono::milliseconds{3'700};
    pace.handed("alice", 37);
    CHECK(pace.room("alice") == 9); // 1.3 s are left
    now += std::chrono::milliseconds{960};
    pace.handed("alice", 9);
    CHECK(pace.room("alice") == 0); // 340 ms are left, less than five take
    CHECK(pace.room("bob") == 50);  // has handed nothing over in this round
    CHECK(pace.trip("bob") == 50);
    CHECK(!pace.is_poll_due());
    now += std::chrono::milliseconds{5'000};
    CHECK(pace.is_poll_due());
    pace.polled();
    CHECK(!pace.is_poll_due());
    CHECK(pace.trip("bob") == 50); // in the five seconds until the next poll
    pace.handed("bob", 50);
    CHECK(pace.room("bob") == 0);
    CHECK(pace.length_of_round() == std::chrono::seconds{9});

    (void)pace.begin();
    now += std::chrono::milliseconds{6'000};
    pace.begin_hand_overs();
    CHECK(pace.room("alice") == 5); // each round goes on
    CHECK(pace.room("bob") == 50);
    now += std::chrono::milliseconds{5};
    pace.handed("alice", 5);
    CHECK(pace.room("alice") == 0);
    (void)pace.begin();
    CHECK(pace.room("alice") == 50); // not more, where they are fast
}
