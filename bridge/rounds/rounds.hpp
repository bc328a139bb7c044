// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/admission.hpp"
#include "bridge/rounds/hand_over_pace.hpp"
#include "bridge/rounds/perform.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cybele::bridge {

using Admission = std::function<Admitted(const Object&)>;

/// What a round did.
struct RoundReport {
    std::set<std::string> must_read; ///< uids of objects to be read again before the next round
    std::size_t objects = 0;
    std::vector<SeenJob> unknown_jobs; ///< jobs that have not ended, with a uid that no object has
    bool is_complete = false;          ///< the batch system answered
};

/// All objects of the bridge, and one round over them: one poll, then each object's turn. What it
/// holds in memory can be lost at any time.
class Rounds {
public:
    explicit Rounds(Admission admission) : admission_(std::move(admission)) {}

    /// An object as the API server has it now.
    void put(Object object);
    /// The server said that the object was deleted: its job is ended. An object that is merely not
    /// in a list is not gone.
    void gone(const std::string& uid);
    /// After a list of all objects: what is known of others is dropped, without consequence for
    /// their jobs.
    void keep_only(const std::set<std::string>& uids);
    [[nodiscard]] const Object* find(const std::string& uid) const;

    void each(const std::function<void(const Object&)>& take) const;
    /// Whether an object of the namespace has the bridge's finalizer.
    [[nodiscard]] bool has_claimed_in(const std::string& space) const;

    /// Without a `pace` objects are handed over in groups of 50, and the queue is read once.
    RoundReport
    round(Server& server, Cluster& cluster, const World& world, HandOverPace* pace = nullptr);

    /// While a command of the cluster has not answered: the ends that a poll shows, where one is
    /// due.
    void meanwhile();
    /// Whether meanwhile() may read the queue now.
    [[nodiscard]] bool is_asking() const {
        return asking_ != nullptr;
    }

private:
    struct Tracked {
        Object object;
        Memory memory;
        bool is_gone = false;
    };

    /// An object that was deleted, for which a late job may still come.
    struct Departed {
        std::string account;
        std::string orphan; ///< the id of the job that stays
    };

    struct Waiting {
        std::string uid;
        int attempt = 0; ///< of a hand-over
        EarlierFindings known;
    };
    /// An object whose turn waits for its write.
    struct Writing {
        std::string uid;
        std::string account;
        EarlierFindings known;
        Pause pause;
    };
    /// Objects that need an answer, by account.
    using Needs = std::map<std::pair<std::string, Need>, std::vector<Waiting>>;

    /// Which objects have their turn first.
    enum class Urgency {
        kEnded, ///< the queue shows that the job ended
        kLive,  ///< the job may change, or has to be cancelled
        kOther,
    };

    /// A round that is going on.
    struct Going {
        const RoundContext& sides;
        const World& world;
        RoundReport& report;
        HandOverPace* pace = nullptr;
        Needs needs = {};
        std::vector<Writing> writes = {};
        std::vector<Waiting> ended = {}; ///< objects whose end was written
        /// Accounts whose further objects wait for the next round, and the last object before the
        /// first of them.
        std::map<std::string, std::string> full = {};
        std::set<std::string> skipped = {}; ///< those of which an object does wait
    };

    [[nodiscard]] static Urgency urgency_of(const Tracked& tracked, const PollIndex& index);
    /// Their uids.
    [[nodiscard]] std::map<Urgency, std::vector<std::string>>
    by_urgency(const PollIndex& index) const;
    void keep_departed(const std::string& uid, Departed departed);
    void turn_of(const std::string& uid, Going& going);
    void turn_all(const std::vector<std::string>& uids, Going& going);
    /// The same for objects that may be handed over, as many of each account as the pace allows.
    void hand_over_all(const std::vector<std::string>& uids, Going& going);
    /// The object's turn comes in the next round.
    [[nodiscard]] bool must_wait(const Tracked& tracked, Going& going) const;
    [[nodiscard]] static std::map<std::string, std::size_t> waiting_of(const Going& going);
    /// Sends the writes that turns wait for, at the same time; then these turns go on.
    void write_out(Going& going);
    /// The next round begins with an object that waits now.
    void begin_next_at(const Going& going);
    /// Where a poll is due while objects are handed over: the ends that it shows are written.
    void look_for_ends(Going& going);
    /// The next turn of objects whose end was written.
    void settle(Going& going);
    /// `answered`: of a further turn in the same round. What it needs next becomes one of the
    /// needs, or of the writes.
    void turn(Tracked& tracked, const Answered* answered, Going& going);
    [[nodiscard]] std::vector<Answered> ask(const std::string& account,
                                            Need need,
                                            const std::vector<Waiting>& all,
                                            Cluster& cluster) const;
    /// Each group is asked for together, then each object has its next turn, until none needs more.
    /// Then what was collected in the batch is sent.
    void finish(Needs needs, Going& going);
    void
    finish(const std::string& account, Need need, const std::vector<Waiting>& all, Going& going);
    /// All needs, or those of one account, but inquiries.
    [[nodiscard]] static Needs take_hand_overs(Needs& needs, const std::string& account = {});
    void end_late_jobs(const PollIndex& index);
    [[nodiscard]] std::vector<SeenJob> unknown_jobs_of(const PollIndex& index) const;

    Admission admission_;
    std::map<std::string, Tracked> objects_;   ///< by uid
    std::map<std::string, Departed> departed_; ///< by uid
    std::deque<std::string> departures_;       ///< their uids, in the order in which they left
    std::string last_;           ///< where the next round begins: no object is always the last
    std::string first_served_;   ///< the account whose waiting objects that place was chosen for
    std::set<std::string> busy_; ///< uids that this round will come back to
    Batch batch_;
    Going* asking_ = nullptr; ///< the round that waits for a command; the queue may be read
};

/// How long after the beginning of a poll the next one begins: as configured, and with a pause of
/// at least five times the time that the answer took.
[[nodiscard]] std::chrono::milliseconds pause_after(std::chrono::milliseconds poll,
                                                    std::chrono::milliseconds answer);

} // namespace cybele::bridge
