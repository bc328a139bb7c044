// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/view.hpp"

#include <set>
#include <string>
#include <vector>

namespace cybele::bridge {

/// The answer of one query for the jobs of all users.
struct Poll {
    bool is_complete = false;
    std::vector<SeenJob> jobs;
    std::set<std::string> silent = {}; ///< accounts whose jobs only they can list, and did not
    std::string words;                 ///< of a query that failed
};

/// A job with the account that it belongs to.
struct Named {
    std::string account;
    std::string id;
    std::string uid = {}; ///< of its object
};

/// What the accounting and the record show of the job in one object's status.
struct JobObservation {
    AccountingObservation accounted;
    RecordObservation record;
};

/// An object whose job is handed over held, under the claim `attempt`.
struct HandOver {
    const Object* object = nullptr;
    int attempt = 0;
};

/// What became of an object's results.
struct Collected {
    Condition condition; ///< ResultsCollected
    Streams output = {}; ///< where the job wrote it
    Streams tail = {};
    std::vector<ResultFile> files = {};
    std::int64_t count = 0; ///< of all files
};

/// Whether hand-overs can begin through claims of a record from now on.
enum class Claims { kOpen, kClosed };

/// A batch system with the records of its jobs. Everything but `poll` runs as the job's account.
class Cluster {
public:
    Cluster() = default;
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;
    virtual ~Cluster() = default;

    /// Whether anything can be done as the account; it may have been removed from the Bridge.
    [[nodiscard]] virtual bool serves(const std::string& /*account*/) const {
        return true;
    }
    /// Why commands as the account failed when they were last tried; empty: they did not.
    [[nodiscard]] virtual AccountFailure failure_of(const std::string& /*account*/) const {
        return {};
    }
    /// One query, however many jobs.
    [[nodiscard]] virtual Poll poll() = 0;
    /// One more query in the same round.
    [[nodiscard]] virtual Poll poll_again() {
        return poll();
    }
    /// The record of the object's job.
    [[nodiscard]] virtual RecordObservation
    search(const Object& object, const std::string& account, Claims claims) = 0;
    /// The records of many objects of one account, in their order.
    [[nodiscard]] virtual std::vector<RecordObservation>
    search_many(const std::vector<const Object*>& all, const std::string& account) {
        std::vector<RecordObservation> found;
        for (const Object* object : all) {
            found.push_back(search(*object, account, Claims::kOpen));
        }
        return found;
    }
    /// Of jobs of one account that the queue does not show: one query of the accounting, however
    /// many, and their records. In the order of the objects.
    [[nodiscard]] virtual std::vector<JobObservation>
    inquire(const std::vector<const Object*>& objects, const std::string& account) = 0;
    /// Hands the job over held, under the claim `attempt`. What came of it, the record says: a
    /// claim that somebody else has is one that was read and names neither answer nor refusal.
    [[nodiscard]] virtual RecordObservation
    submit_held(const Object& object, const std::string& account, int attempt) = 0;
    /// Many of one account, in their order.
    [[nodiscard]] virtual std::vector<RecordObservation>
    submit_many(const std::vector<HandOver>& all, const std::string& account) {
        std::vector<RecordObservation> found;
        for (const HandOver& one : all) {
            found.push_back(submit_held(*one.object, account, one.attempt));
        }
        return found;
    }
    /// Lets jobs go of whose objects no other one was ever let go; the record says so from then on.
    /// Whether it worked, the next poll says.
    virtual void release(const std::vector<Named>& jobs) = 0;
    virtual void cancel(const std::vector<Named>& jobs) = 0;
    /// Where the job wrote its output, and the last of it; empty where that cannot be read.
    [[nodiscard]] virtual OutputObservation read_output(const Object& /*object*/,
                                                        const std::string& /*account*/) {
        return {};
    }
    /// Of many objects of one account, in their order.
    [[nodiscard]] virtual std::vector<OutputObservation>
    read_outputs(const std::vector<const Object*>& all, const std::string& account) {
        std::vector<OutputObservation> found;
        for (const Object* object : all) {
            found.push_back(read_output(*object, account));
        }
        return found;
    }
    /// Copies results; unset: not finished yet. A failure is repeated where `begun`, a Unix time,
    /// is later than that of the last call. An empty account is none of the object's namespace.
    [[nodiscard]] virtual std::optional<Collected>
    collect(const Object& object, const std::string& account, std::int64_t begun) = 0;
    /// Notes in the record that the job runs on without its object.
    virtual void note_orphan(const Object& object, const std::string& account) = 0;
};

} // namespace cybele::bridge
