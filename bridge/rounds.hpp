// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/admission.hpp"
#include "bridge/perform.hpp"
#include "launchers/documents/bridge.hpp"

#include <chrono>
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
    std::vector<SeenJob> strangers; ///< jobs that have not ended, with a uid that no object has
    bool is_complete = false;       ///< the batch system answered
};

/// The next number of objects that are handed over together, after so many of them; 0 at the first
/// call of a round. When the result is 0, the others wait for the next round.
using NextHandOvers = std::function<std::size_t(std::size_t handed)>;

/// How many objects are handed over together, so that the next poll is on time: jobs end meanwhile.
/// Times are those of boot_time().
class HandOverPace {
public:
    using Time = std::function<std::chrono::milliseconds()>;

    /// By ssh, few logins are worth more than ends that are on time: hand-overs share them.
    explicit HandOverPace(const std::vector<launchers::BridgeAccount>& accounts);

    /// `due`: when the next poll is. The result must not outlive this object.
    [[nodiscard]] NextHandOvers until(Time due, Time clock);

private:
    [[nodiscard]] std::size_t
    next(std::chrono::milliseconds now, std::chrono::milliseconds due, std::size_t handed);

    std::chrono::milliseconds begun_{0};
    std::size_t least_;
    std::chrono::milliseconds each_{100}; ///< that one object takes
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

    RoundReport round(Server& server,
                      Cluster& cluster,
                      const World& world,
                      const NextHandOvers& next_hand_overs = all_together);

private:
    static std::size_t all_together(std::size_t handed);

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
        Known known;
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
        const Sides& sides;
        const World& world;
        RoundReport& report;
        Needs needs = {};
        std::size_t waiting = 0;         ///< of them, those that are not inquiries
        std::vector<Waiting> ended = {}; ///< objects whose end was written
    };

    [[nodiscard]] static Urgency urgency_of(const Tracked& tracked, const PollIndex& index);
    /// Their uids.
    [[nodiscard]] std::map<Urgency, std::vector<std::string>>
    by_urgency(const PollIndex& index) const;
    void turn_all(const std::vector<std::string>& uids,
                  const NextHandOvers& next_hand_overs,
                  Going& going);
    /// The next turn of objects whose end was written.
    void settle(Going& going);
    /// `answered`: of a further turn in the same round. What it needs next becomes one of the
    /// needs.
    void turn(Tracked& tracked, const Answered* answered, Going& going);
    [[nodiscard]] std::vector<Answered> ask(const std::string& account,
                                            Need need,
                                            const std::vector<Waiting>& all,
                                            Cluster& cluster) const;
    /// Each group is asked for together, then each object has its next turn, until none needs more.
    /// Then what was collected in the batch is sent.
    void finish(Needs needs, Going& going);
    [[nodiscard]] static Needs take_hand_overs(Needs& needs);
    void end_late_jobs(const PollIndex& index);
    [[nodiscard]] std::vector<SeenJob> strangers_of(const PollIndex& index) const;

    Admission admission_;
    std::map<std::string, Tracked> objects_;   ///< by uid
    std::map<std::string, Departed> departed_; ///< by uid
    std::string last_; ///< where the next round begins: no object is always the last
    Batch batch_;
};

/// How long after the beginning of a poll the next one begins: as configured, and with a pause of
/// at least five times the time that the answer took.
[[nodiscard]] std::chrono::milliseconds pause_after(std::chrono::milliseconds poll,
                                                    std::chrono::milliseconds answer);

} // namespace cybele::bridge
