// SPDX-License-Identifier: Apache-2.0
#include "apiserver/lease.hpp"
#include "tests/unit/apiserver/recorded_transport.hpp"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using namespace cybele::apiserver;
using nlohmann::json;
using namespace std::chrono_literals;

namespace {

std::string stamp() {
    return "2020-01-01T00:00:00.000000Z"; // years ago: no clock of the wall is looked at
}

LeaseSettings lease_of(const std::string& identity) {
    LeaseSettings settings;
    settings.name_space = "n";
    settings.name = "l";
    settings.identity = identity;
    return settings;
}

/// The Lease as a server keeps it: one object, compared by its resourceVersion.
class LeaseStore : public RecordedTransport {
public:
    std::uint64_t send(const Call& call, Receiver& receiver) override {
        const std::uint64_t id = RecordedTransport::send(call, receiver);
        waiting_.push_back(id);
        return id;
    }
    /// Answers what was sent.
    void serve() {
        for (const std::uint64_t id : std::exchange(waiting_, {})) {
            if (is_open(id)) {
                serve_one(calls[id - 1], id);
            }
        }
    }
    void write(const json& spec, const json& annotations = json::object()) {
        object = {{"metadata",
                   {{"uid", "u"},
                    {"resourceVersion", std::to_string(++revision)},
                    {"annotations", annotations}}},
                  {"spec", spec}};
    }
    json object; ///< null: there is none
    int revision = 10;

private:
    void serve_one(const Call& call, std::uint64_t id) {
        if (call.method == "GET") {
            object.is_null() ? answer(404, "{}", id) : answer(200, object.dump(), id);
            return;
        }
        const json body = json::parse(call.body);
        const bool is_new = call.method == "POST";
        if (is_new != object.is_null() || (!is_new && body["metadata"]["resourceVersion"] !=
                                                          object["metadata"]["resourceVersion"])) {
            answer(409, "{}", id);
            return;
        }
        write(body["spec"], body["metadata"].value("annotations", json::object()));
        answer(is_new ? 201 : 200, object.dump(), id);
    }
    std::vector<std::uint64_t> waiting_;
};

/// Runs all of them together for that long.
void run(LeaseStore& store,
         const std::vector<Lease*>& leases,
         std::chrono::milliseconds time,
         const std::function<void()>& check = {}) {
    for (const Moment end = store.now + time; store.now < end; store.now += 50ms) {
        for (Lease* const lease : leases) {
            lease->wake(store.now);
        }
        store.serve();
        if (check) {
            check();
        }
    }
}

} // namespace

TEST_CASE("a Lease is created, renewed each five seconds, and given back") {
    LeaseStore store;
    Lease lease(lease_of("a"), store, stamp, 1);
    run(store, {&lease}, 60s);
    CHECK(lease.is_held(store.now));
    CHECK(store.object["spec"]["holderIdentity"] == "a");
    CHECK(store.object["spec"]["leaseDurationSeconds"] == 30);
    CHECK(store.object["spec"]["leaseTransitions"] == 0);
    CHECK(store.object["spec"]["renewTime"] == stamp());
    CHECK(store.calls.size() >= 12);
    CHECK(store.calls.size() <= 15);
    lease.release(store.now);
    CHECK_FALSE(lease.is_held(store.now));
    run(store, {&lease}, 1s);
    CHECK(lease.has_ended());
    CHECK(store.object["spec"]["holderIdentity"] == "");
    // The next one does not wait.
    Lease next(lease_of("b"), store, stamp, 2);
    run(store, {&next}, 1s);
    CHECK(next.is_held(store.now));
    CHECK(store.object["spec"]["leaseTransitions"] == 1);
}

TEST_CASE("the holder dies: another takes over within 35 seconds, never both") {
    LeaseStore store;
    auto first = std::make_unique<Lease>(lease_of("a"), store, stamp, 1);
    Lease second(lease_of("b"), store, stamp, 2);
    run(store, {first.get(), &second}, 100s, [&] {
        CHECK_FALSE((first->is_held(store.now) && second.is_held(store.now)));
    });
    REQUIRE(first->is_held(store.now));
    first.reset();
    const Moment died = store.now;
    run(store, {&second}, 40s, [&] {
        if (!second.is_held(store.now)) {
            CHECK(store.now - died <= 35s);
        }
    });
    CHECK(second.is_held(store.now));
}

TEST_CASE("a holder without answers gives up before another can take over") {
    LeaseStore store;
    Lease first(lease_of("a"), store, stamp, 1);
    Lease second(lease_of("b"), store, stamp, 2);
    run(store, {&first, &second}, 20s);
    REQUIRE(first.is_held(store.now));
    const Moment cut = store.now;
    // The first one's exchanges fail, the second one's do not.
    while (store.now - cut < 60s) {
        const std::uint64_t before = store.last_id();
        first.wake(store.now);
        if (store.last_id() != before) {
            store.cut();
        }
        second.wake(store.now);
        store.serve();
        CHECK_FALSE((first.is_held(store.now) && second.is_held(store.now)));
        store.now += 50ms;
    }
    CHECK_FALSE(first.is_held(store.now));
    CHECK(second.is_held(store.now));
    CHECK(first.last_error());
}

TEST_CASE("a sleeper holds nothing when it wakes up, and an answer that comes late counts from its "
          "sending") {
    LeaseStore store;
    Lease lease(lease_of("a"), store, stamp, 1);
    run(store, {&lease}, 3s);
    REQUIRE(lease.is_held(store.now));
    store.now += 25s;
    CHECK_FALSE(lease.is_held(store.now));
    lease.wake(store.now); // a renewal is sent, and the process sleeps again
    store.now += 30s;
    store.serve();
    CHECK_FALSE(lease.is_held(store.now));
    run(store, {&lease}, 1s);
    CHECK(lease.is_held(store.now));
}

TEST_CASE("the holder's renewal without an answer is found to have happened") {
    LeaseStore store;
    Lease lease(lease_of("a"), store, stamp, 1);
    run(store, {&lease}, 3s);
    store.now += 5s;
    lease.wake(store.now);
    REQUIRE(store.last().method == "PUT");
    store.write(json::parse(store.last().body)["spec"]); // it happened
    store.cut();
    run(store, {&lease}, 10s);
    CHECK(lease.is_held(store.now));
}

TEST_CASE("a Lease whose holder wrote a longer duration is taken after that one") {
    LeaseStore store;
    store.write({{"holderIdentity", "z"}, {"leaseDurationSeconds", 60}, {"renewTime", stamp()}});
    Lease lease(lease_of("a"), store, stamp, 1);
    run(store, {&lease}, 59s);
    CHECK_FALSE(lease.is_held(store.now));
    CHECK(lease.holder() == "z");
    run(store, {&lease}, 3s);
    CHECK(lease.is_held(store.now));
}

TEST_CASE("a deleted Lease is created again; one taken by force is not held") {
    LeaseStore store;
    Lease lease(lease_of("a"), store, stamp, 1);
    run(store, {&lease}, 3s);
    store.object = nullptr;
    run(store, {&lease}, 8s);
    CHECK(lease.is_held(store.now));
    store.write({{"holderIdentity", "z"}, {"leaseDurationSeconds", 30}, {"renewTime", stamp()}});
    run(store, {&lease}, 8s);
    CHECK_FALSE(lease.is_held(store.now));
}

TEST_CASE(
    "a store that was put back is seen by its Lease, also when its revision is higher again") {
    int stamps = 0;
    const auto moments = [&] { return std::to_string(++stamps); };
    const auto marked = [](const std::string& identity) {
        LeaseSettings settings = lease_of(identity);
        settings.rewound_mark = "x/rewound";
        return settings;
    };
    LeaseStore store;
    Lease holder(marked("a"), store, moments, 1);
    Lease other(marked("b"), store, moments, 2);
    run(store, {&holder, &other}, 20s);
    const json backup = store.object;
    run(store, {&holder, &other}, 20s);
    REQUIRE(holder.is_held(store.now));
    CHECK(holder.rewinds() + other.rewinds() == 0);
    store.object = backup;
    store.revision += 1000; // what others wrote after the restore
    SUBCASE("both see it, whoever looks first") {
        run(store, {&holder, &other}, 20s);
        CHECK(holder.rewinds() == 1);
        CHECK(other.rewinds() == 1);
    }
    SUBCASE("who looks after the next renewal reads the mark") {
        run(store, {&holder}, 20s);
        CHECK(store.object["metadata"]["annotations"].contains("x/rewound"));
        run(store, {&holder, &other}, 20s);
        CHECK(holder.rewinds() == 1);
        CHECK(other.rewinds() == 1);
    }
    SUBCASE("the other takes over from a holder that is gone") {
        run(store, {&other}, 60s);
        CHECK(other.is_held(store.now));
        CHECK(other.rewinds() == 1);
    }
    CHECK(holder.is_held(store.now) != other.is_held(store.now));
}

TEST_CASE("a holder does not count its own mark of a rewind, and the other one does") {
    int stamps = 0;
    const auto moments = [&] { return std::to_string(++stamps); };
    LeaseSettings settings = lease_of("a");
    settings.rewound_mark = "x/rewound";
    LeaseStore store;
    Lease holder(settings, store, moments, 1);
    settings.identity = "b";
    Lease other(settings, store, moments, 2);
    run(store, {&holder, &other}, 20s);
    holder.mark_rewound();
    run(store, {&holder, &other}, 20s);
    CHECK(holder.rewinds() == 0);
    CHECK(other.rewinds() == 1);
    Lease third(settings, store, moments, 3); // it lists all of it anyway
    run(store, {&holder, &third}, 20s);
    CHECK(third.rewinds() == 0);
}
