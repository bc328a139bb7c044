// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/batch/cluster.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

/// A batch system in memory, which fails as the real one does; model_server.hpp: an API server.
namespace model {

using namespace cybele;

/// kill -9 of a controller.
struct Crash {};

/// Time and chance of one story; equal seeds tell equal stories.
struct World {
    explicit World(std::uint64_t seed) : dice(seed) {}

    std::mt19937_64 dice;
    std::int64_t now = 1000000;
    bool has_faults = true;
    std::function<void()> meanwhile; ///< another controller acts
    std::vector<std::string> broken; ///< promises that were not kept
    std::map<std::string, std::uint64_t> counts;
    std::vector<std::string> notes;
    bool is_noted = false;

    std::uint64_t below(std::uint64_t most) {
        return dice() % most;
    }
    bool chance(unsigned percent) {
        return has_faults && below(100) < percent;
    }
    void count(const std::string& what) {
        ++counts[what];
        note(what);
    }
    /// What happened, for who looks into a story that ended badly.
    void note(const std::string& what) {
        if (is_noted) {
            notes.push_back(std::to_string(now) + " " + what);
        }
    }
    void promise(bool holds, const std::string& what) {
        if (!holds) {
            broken.push_back(what);
        }
    }
    /// A place where the controller may be killed, or sleep while another one acts.
    void point() {
        if (chance(3)) {
            count("kills");
            throw Crash{};
        }
        if (chance(3) && meanwhile) {
            count("interleavings");
            meanwhile();
        }
    }
};

struct Job {
    std::string id;
    std::string owner;
    std::string token;
    submission::State state = submission::State::kHeld;
    std::string native = "PENDING";
    std::string reason = "JobHeldUser";
    int code = 0;
    int restarts = 0;
    std::int64_t visible = 0; ///< from when the queue shows it
    std::int64_t started = 0;
    std::int64_t ended = 0;
    bool is_very_late = false;
    bool is_purged = false;
    int requeues_left = 0; ///< after an end of its node

    [[nodiscard]] bool is_over() const {
        return ended != 0;
    }
};

class Cluster : public bridge::Cluster {
public:
    explicit Cluster(World& world) : world_(world) {}

    bridge::Poll poll() override {
        world_.point();
        world_.count("polls");
        if (world_.chance(10)) {
            return {};
        }
        bridge::Poll poll;
        poll.is_complete = true;
        for (const Job& job : jobs) {
            if (job.visible <= world_.now && !job.is_purged) {
                poll.jobs.push_back(seen(job));
            }
        }
        return poll;
    }

    bridge::RecordObservation search(const bridge::Object& object,
                                     const std::string& account,
                                     bridge::Claims claims) override {
        world_.point();
        if (world_.chance(5) || account != "alice") {
            return {};
        }
        Record& record = records[object.uid];
        record.is_closed = record.is_closed || claims == bridge::Claims::kClosed;
        const bridge::RecordObservation sight = read(record);
        world_.point();
        return sight;
    }

    std::vector<bridge::JobObservation> inquire(const std::vector<const bridge::Object*>& objects,
                                                const std::string& account) override {
        world_.count("inquiries");
        const bool was_asked = !world_.chance(10);
        std::vector<bridge::JobObservation> all;
        for (const bridge::Object* object : objects) {
            bridge::JobObservation& one = all.emplace_back();
            one.accounted.was_asked = was_asked;
            const Job* job = find_id(object->status.job_id);
            if (was_asked && has_accounting && job != nullptr && job->token == object->uid) {
                one.accounted.job = seen(*job);
            }
            one.record = search(*object, account, bridge::Claims::kOpen);
        }
        return all;
    }

    bridge::RecordObservation
    submit_held(const bridge::Object& object, const std::string& account, int attempt) override {
        world_.point();
        Record& record = records[object.uid];
        if (record.is_closed || record.claims >= attempt) {
            world_.count("claims taken");
            return read(record);
        }
        record.claims = attempt;
        record.refusal.clear(); // the record shows what became of its last claim
        record.claimed = world_.now;
        const InFlight flight(record);
        world_.point();
        if (world_.chance(2)) {
            record.refusal = "Invalid partition";
            world_.count("refusals");
            world_.point();
            return read(record);
        }
        if (world_.chance(5)) {
            return read(record); // it never came to the batch system
        }
        Job& job = add(object.uid, account);
        world_.point();
        if (job.visible > world_.now || world_.chance(20)) {
            world_.count("answers lost");
            return read(record);
        }
        record.answer = record.answer.empty() ? job.id : record.answer;
        world_.point();
        return read(record);
    }

    void release(const std::vector<bridge::Named>& named) override {
        for (const bridge::Named& one : named) {
            world_.point();
            if (world_.chance(5)) {
                continue;
            }
            Record& record = records[one.uid];
            record.released = record.released.empty() ? one.id : record.released;
            world_.point();
            Job* job = find(one);
            const bool may_go = record.released == one.id && !world_.chance(10);
            if (job != nullptr && job->state == submission::State::kHeld && may_go) {
                job->state = submission::State::kPending;
                job->reason = "Priority";
                world_.note("released " + job->id + " of " + job->token);
                committed[job->token].insert(job->id);
                world_.promise(committed[job->token].size() <= 1, "two jobs run for " + job->token);
            }
        }
    }

    void cancel(const std::vector<bridge::Named>& named) override {
        for (const bridge::Named& one : named) {
            world_.point();
            Job* job = find(one);
            if (job != nullptr && !job->is_over() && !world_.chance(15)) {
                world_.count(job->state == submission::State::kHeld ? "held jobs cancelled"
                                                                    : "jobs cancelled");
                end(*job, submission::State::kCancelled, "CANCELLED", 0);
                by_bridge.insert(job->id);
            }
        }
    }

    std::optional<bridge::Collected> collect(const bridge::Object& /*object*/,
                                             const std::string& /*account*/,
                                             std::int64_t /*begun*/) override {
        world_.point();
        if (world_.chance(50)) {
            return std::nullopt;
        }
        return bridge::Collected{{"ResultsCollected", "True", "Copied", "", world_.now}};
    }

    void note_orphan(const bridge::Object& /*object*/, const std::string& /*account*/) override {
        world_.point();
    }

    /// What the batch system does by itself.
    void pass_time() {
        for (Job& job : jobs) {
            if (job.is_over()) {
                job.is_purged = job.is_purged || (world_.now - job.ended > 300 && may_purge);
            } else if (job.native == "NODE_FAIL") {
                job.state = submission::State::kPending;
                job.native = "PENDING";
                ++job.restarts;
            } else if (job.state == submission::State::kPending && world_.below(2) == 0) {
                job.state = submission::State::kRunning;
                job.native = "RUNNING";
                job.started = world_.now;
            } else if (job.state == submission::State::kRunning && world_.below(3) == 0) {
                end_by_itself(job);
            }
        }
    }

    /// An administrator requeues, or a person cancels or holds.
    void disturb() {
        if (jobs.empty()) {
            return;
        }
        Job& job = jobs[world_.below(jobs.size())];
        const auto what = world_.below(3);
        if (job.is_over() || job.visible > world_.now || job.state == submission::State::kHeld) {
            return;
        }
        if (what == 0 && job.state == submission::State::kRunning) {
            job.state = submission::State::kPending;
            job.native = "PENDING";
            ++job.restarts;
            world_.count("requeues");
        } else if (what == 1) {
            end(job, submission::State::kCancelled, "CANCELLED by 1000", 0);
        }
    }

    [[nodiscard]] const Job* find_id(const std::string& id) const {
        const auto found =
            std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) { return job.id == id; });
        return found == jobs.end() ? nullptr : &*found;
    }

    [[nodiscard]] std::string released(const std::string& uid) const {
        const auto found = records.find(uid);
        return found == records.end() ? "" : found->second.released;
    }

    std::deque<Job> jobs; ///< whose places stay while another controller adds one
    std::map<std::string, std::set<std::string>> committed; ///< token → ids that were let go
    std::set<std::string> by_bridge;                        ///< ids that were cancelled for it
    bool has_accounting = true;
    bool may_purge = true;

private:
    struct Record {
        int claims = 0;
        std::int64_t claimed = 0;
        int in_flight = 0;
        bool is_closed = false;
        std::string answer;
        std::string refusal;
        std::string released;
    };
    struct InFlight {
        explicit InFlight(Record& record) : record_(record) {
            ++record_.in_flight;
        }
        InFlight(const InFlight&) = delete;
        InFlight& operator=(const InFlight&) = delete;
        ~InFlight() {
            --record_.in_flight;
        }
        Record& record_;
    };

    [[nodiscard]] bridge::RecordObservation read(const Record& record) const {
        bridge::RecordObservation sight;
        sight.was_read = true;
        sight.is_closed = record.is_closed;
        sight.claims = record.claims;
        sight.is_submitter_gone = record.in_flight == 0;
        sight.claim_age = world_.now - record.claimed;
        sight.released = record.released;
        sight.answer = record.released.empty() ? record.answer : record.released;
        sight.refusal = sight.answer.empty() ? record.refusal : "";
        return sight;
    }

    static bridge::SeenJob seen(const Job& job) {
        bridge::SeenJob sight;
        sight.id = job.id;
        sight.owner = job.owner;
        sight.token = job.token;
        sight.state = job.state;
        sight.native = job.native;
        sight.reason = job.reason;
        sight.restarts = job.restarts;
        sight.started = job.started;
        sight.ended = job.ended;
        if (job.is_over()) {
            sight.code = job.code;
        }
        return sight;
    }

    Job& add(const std::string& token, const std::string& owner) {
        Job job;
        job.id = std::to_string(++last_id_);
        job.owner = owner;
        job.token = token;
        job.visible = world_.now;
        if (world_.chance(20)) {
            job.visible += 8 + static_cast<std::int64_t>(world_.below(40));
            world_.count("late jobs");
        } else if (world_.chance(4)) {
            job.visible += 70 + static_cast<std::int64_t>(world_.below(100));
            job.is_very_late = true;
            world_.count("very late jobs");
        }
        world_.note("job " + job.id + " of " + token + ", seen from " +
                    std::to_string(job.visible));
        jobs.push_back(job);
        return jobs.back();
    }

    Job* find(const bridge::Named& named) {
        const auto found = std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) {
            return job.id == named.id && job.owner == named.account && job.visible <= world_.now &&
                   !job.is_purged;
        });
        return found == jobs.end() ? nullptr : &*found;
    }

    void end(Job& job, submission::State state, const std::string& native, int code) const {
        world_.note("job " + job.id + " ends: " + native);
        job.state = state;
        job.native = native;
        job.code = code;
        job.ended = world_.now;
        job.reason = "None";
    }

    void end_by_itself(Job& job) {
        switch (world_.below(6)) {
        case 0:
            return end(job, submission::State::kFailed, "FAILED", 3);
        case 1:
            return end(job, submission::State::kTimeout, "TIMEOUT", 0);
        case 2: // Shown for a moment; then the job is back in the queue.
            job.state = submission::State::kFailed;
            job.native = "NODE_FAIL";
            world_.count("failed nodes");
            return;
        default:
            return end(job, submission::State::kDone, "COMPLETED", 0);
        }
    }

    World& world_;
    std::map<std::string, Record> records;
    int last_id_ = 0;
};

} // namespace model
