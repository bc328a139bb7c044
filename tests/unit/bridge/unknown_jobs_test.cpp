// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/unknown_jobs.hpp"

#include <doctest/doctest.h>

using namespace cybele;
using bridge::SeenJob;

namespace {

std::string stranger_uid(char digit) {
    return std::string("00000000-0000-4000-8000-00000000000") + digit;
}

SeenJob stranger_of(const std::string& account, char digit) {
    SeenJob job;
    job.id = std::string(1, digit);
    job.owner = account;
    job.token = stranger_uid(digit);
    job.native = "RUNNING";
    return job;
}

/// A cluster whose records and objects are given, and that counts what it is asked.
struct Places {
    std::map<std::string, bridge::RecordOwner> records; ///< by uid
    std::map<std::string, bool> objects;                ///< by uid; missing: the server is silent
    bool is_readable = true;
    int asked = 0;

    bridge::UnknownJobs unknown_jobs{
        {row("alice", "/home/alice"), row("bob", "/home/bob")},
        {[this](const auto& row, const auto& uids) { return owners(row, uids); },
         [this](const std::string&, const std::string& uid) {
             const auto found = objects.find(uid);
             return found == objects.end() ? std::nullopt : std::optional(found->second);
         }}};

    static launchers::BridgeAccount row(const std::string& account, const std::string& folder) {
        launchers::BridgeAccount row;
        row.account = account;
        row.workdir = folder;
        return row;
    }
    Result<std::map<std::string, bridge::RecordOwner>>
    owners(const launchers::BridgeAccount& row, const std::vector<std::string>& uids) {
        ++asked;
        if (!is_readable) {
            return fail(ErrorCode::kEnvironment, problem("x", row.account + " is away"), "", "");
        }
        std::map<std::string, bridge::RecordOwner> found;
        for (const std::string& uid : uids) {
            if (const auto record = records.find(uid); record != records.end()) {
                found.insert(*record);
            }
        }
        return found;
    }
    bool look(const std::vector<SeenJob>& jobs) {
        return unknown_jobs.look(jobs, {"hall-a", stranger_uid('f')});
    }
};

bridge::RecordOwner stranger_claim(const std::string& name, const std::string& object) {
    return {true, {name, stranger_uid('f')}, object};
}

} // namespace

TEST_CASE("a job of this bridge without an object is found once, and forgotten when it ended") {
    Places places;
    places.records[stranger_uid('1')] = stranger_claim("hall-a", "physics/lost");
    places.objects[stranger_uid('1')] = false;
    const std::vector<SeenJob> jobs{stranger_of("alice", '1')};
    CHECK(places.look(jobs));
    REQUIRE(places.unknown_jobs.orphans().size() == 1);
    const bridge::Orphan& orphan = places.unknown_jobs.orphans().begin()->second;
    CHECK(orphan.id == "1");
    CHECK(orphan.account == "alice");
    CHECK(orphan.object == "physics/lost");
    CHECK_FALSE(places.look(jobs));
    CHECK(places.unknown_jobs.orphans().size() == 1);
    CHECK(places.asked == 1);
    CHECK_FALSE(places.look({}));
    CHECK(places.unknown_jobs.orphans().empty());
}

TEST_CASE("jobs of another bridge and jobs without a record are nobody's orphans, and asked once") {
    Places places;
    places.records[stranger_uid('1')] = stranger_claim("hall-b", "physics/theirs");
    places.records[stranger_uid('2')] = {false, {}, {}}; // it goes on without its object
    places.objects[stranger_uid('1')] = false;
    const std::vector<SeenJob> jobs{stranger_of("alice", '1'),
                                    stranger_of("alice", '2'),
                                    stranger_of("alice", '3'),
                                    stranger_of("eve", '4')};
    CHECK_FALSE(places.look(jobs));
    CHECK_FALSE(places.look(jobs));
    CHECK(places.unknown_jobs.orphans().empty());
    CHECK(places.asked == 1);
}

TEST_CASE(
    "what is not certain is asked again: a way that fails, a server that does not say, and an "
    "object that exists") {
    Places places;
    places.records[stranger_uid('1')] = stranger_claim("hall-a", "physics/lost");
    places.is_readable = false;
    const std::vector<SeenJob> jobs{stranger_of("bob", '1')};
    CHECK_FALSE(places.look(jobs));
    places.is_readable = true;
    CHECK_FALSE(places.look(jobs)); // the server is silent
    places.objects[stranger_uid('1')] = true;
    CHECK_FALSE(places.look(jobs));
    CHECK(places.unknown_jobs.orphans().empty());
    places.objects[stranger_uid('1')] = false;
    CHECK(places.look(jobs));
    CHECK(places.unknown_jobs.orphans().size() == 1);
    CHECK(places.asked == 4);
}
