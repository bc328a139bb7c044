// SPDX-License-Identifier: Apache-2.0
#include "bridge/rounds.hpp"

#include "bridge/observe.hpp"
#include "bridge/patterns.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cybele::bridge {
namespace {

/// Deleted objects whose late jobs are still looked for; the oldest knowledge costs least.
constexpr std::size_t kMostDeparted = 10000;

/// A bound on the questions of one object in a round: for its record, the hand-over, the accounting
/// of its job, its output. More would be a rule that goes in circles.
constexpr int kMostAnswers = 5;
constexpr std::size_t kMostTogether = 50; ///< objects that wait for answers at the same time
constexpr std::size_t kLeastTogether = 5; ///< of them in a round, so that each round goes on

/// What a job that is elsewhere left here, if anything, belongs to the account of here.
View view_of(const Object& object, const Admitted& admitted, const Sides& sides, bool is_foreign) {
    View view;
    view.refusal = admitted.refusal;
    view.account =
        object.status.account.empty() || is_foreign ? admitted.account : object.status.account;
    view.has_way = view.account.empty() || sides.cluster.serves(view.account);
    view.trouble = sides.cluster.trouble_of(view.account);
    view.queue = sides.index.sight_of(object);
    if (sides.index.poll().silent.contains(view.account)) {
        view.queue.is_complete = false;
    }
    return view;
}

} // namespace

void Rounds::put(Object object) {
    const std::string uid = object.uid;
    forget_script(object);
    departed_.erase(uid); // the past came back
    objects_[uid].object = std::move(object);
}

void Rounds::gone(const std::string& uid) {
    if (const auto found = objects_.find(uid); found != objects_.end()) {
        found->second.is_gone = true;
    }
}

void Rounds::keep_only(const std::set<std::string>& uids) {
    std::erase_if(objects_, [&](const auto& one) {
        return !uids.contains(one.first) && !one.second.is_gone;
    });
}

const Object* Rounds::find(const std::string& uid) const {
    const auto found = objects_.find(uid);
    return found == objects_.end() ? nullptr : &found->second.object;
}

void Rounds::each(const std::function<void(const Object&)>& take) const {
    for (const auto& [uid, tracked] : objects_) {
        if (!tracked.is_gone) {
            take(tracked.object);
        }
    }
}

void Rounds::turn(Tracked& tracked, const Answered* answered, Going& going) {
    const Sides& sides = going.sides;
    const World& world = going.world;
    const Object& object = tracked.object;
    const Admitted admitted = admission_(object);
    const bool is_foreign = is_elsewhere(object, world);
    const View view = view_of(object, admitted, sides, is_foreign);
    const Case seen{object, view, tracked.memory, world, tracked.is_gone};
    const Memory memory = answered == nullptr ? observed(seen) : tracked.memory;
    const Case one{object, view, memory, world, tracked.is_gone};
    Outcome outcome = perform(one, sides, batch_, answered);
    const std::string uid = object.uid;
    if (outcome.must_read) {
        going.report.must_read.insert(uid);
    }
    if (!outcome.object) {
        const bool is_orphan = object.spec.on_delete == OnDelete::kOrphan && !is_foreign;
        if (!view.account.empty() && departed_.size() < kMostDeparted) {
            departed_[uid] = {view.account, is_orphan ? object.status.job_id : std::string()};
        }
        objects_.erase(uid);
        return;
    }
    if (outcome.need == Need::kTurn) {
        going.ended.push_back({uid, 0, std::move(outcome.known)});
        outcome.need = Need::kNothing;
    }
    const bool is_repeated = answered != nullptr && answered->need == outcome.need;
    if (outcome.need != Need::kNothing && !is_repeated && !outcome.must_read) {
        going.needs[{view.account, outcome.need}].push_back(
            {uid, outcome.attempt, std::move(outcome.known)});
        going.waiting += outcome.need == Need::kInquiry ? 0 : 1;
    }
    tracked.object = std::move(*outcome.object);
    forget_script(tracked.object);
    tracked.memory = outcome.memory;
}

std::vector<Answered> Rounds::ask(const std::string& account,
                                  Need need,
                                  const std::vector<Waiting>& all,
                                  Cluster& cluster) const {
    std::vector<const Object*> objects;
    std::vector<HandOver> hand_overs;
    std::vector<Answered> answers;
    for (const Waiting& one : all) {
        objects.push_back(&objects_.at(one.uid).object);
        hand_overs.push_back({objects.back(), one.attempt});
        answers.push_back({need, one.known, {}, {}});
    }
    const auto fill = [&answers](auto found, const auto& put) {
        for (std::size_t at = 0; at < answers.size(); ++at) {
            put(answers[at], std::move(found.at(at)));
        }
    };
    const auto put_record = [](Answered& answer, RecordSight record) {
        answer.found.record = std::move(record);
    };
    if (need == Need::kInquiry) {
        fill(cluster.inquire(objects, account),
             [](Answered& answer, Inquired found) { answer.found = std::move(found); });
    } else if (need == Need::kOutput) {
        fill(cluster.read_outputs(objects, account),
             [](Answered& answer, OutputSight output) { answer.output = std::move(output); });
    } else if (need == Need::kSubmit) {
        fill(cluster.submit_many(hand_overs, account), put_record);
    } else {
        fill(cluster.search_many(objects, account), put_record);
    }
    return answers;
}

/// All but the inquiries, which are made once for all objects.
Rounds::Needs Rounds::take_hand_overs(Needs& needs) {
    Needs taken;
    for (auto group = needs.begin(); group != needs.end();) {
        const auto next = std::next(group);
        if (group->first.second != Need::kInquiry) {
            taken.insert(needs.extract(group));
        }
        group = next;
    }
    return taken;
}

void Rounds::finish(Needs needs, Going& going) {
    Needs others = std::exchange(going.needs, {}); // those that wait for the end of the round
    for (int more = 0; more < kMostAnswers && !needs.empty(); ++more) {
        for (const auto& [group, all] : needs) {
            const auto& [account, need] = group;
            const auto answers = ask(account, need, all, going.sides.cluster);
            for (std::size_t at = 0; at < all.size(); ++at) {
                turn(objects_.at(all[at].uid), &answers[at], going);
            }
        }
        needs = std::exchange(going.needs, {});
    }
    going.needs = std::move(others);
    going.waiting = 0;
    if (going.world.is_leader) {
        perform_batch(std::exchange(batch_, {}), going.sides);
    }
}

void Rounds::end_late_jobs(const PollIndex& index) {
    for (const SeenJob& job : index.poll().jobs) {
        const auto found = departed_.find(job.token);
        if (found == departed_.end() || found->second.account != job.owner ||
            submission::is_over(job.state) || found->second.orphan == job.id) {
            continue;
        }
        batch_.cancels.push_back({job.owner, job.id, job.token});
    }
}

std::vector<SeenJob> Rounds::strangers_of(const PollIndex& index) const {
    std::vector<SeenJob> strangers;
    for (const SeenJob& job : index.poll().jobs) {
        if (is_uid(job.token) && !submission::is_over(job.state) && !objects_.contains(job.token) &&
            !departed_.contains(job.token)) {
            strangers.push_back(job);
        }
    }
    return strangers;
}

HandOverPace::HandOverPace(const std::vector<launchers::BridgeAccount>& accounts)
    : least_(kLeastTogether) {
    if (std::any_of(accounts.begin(), accounts.end(), [](const auto& account) {
            return !account.way.ssh.empty();
        })) {
        least_ = kMostTogether;
    }
}

std::size_t HandOverPace::next(std::chrono::milliseconds now,
                               std::chrono::milliseconds due,
                               std::size_t handed) {
    if (handed > 0) {
        each_ = std::max<std::chrono::milliseconds>(
            std::chrono::milliseconds{1}, (now - begun_) / static_cast<std::int64_t>(handed));
    }
    begun_ = now;
    const auto left = (due - now) * 3 / 4; // the rest is for what the round does afterwards
    const auto fitting = static_cast<std::size_t>(std::max<std::int64_t>(0, left / each_));
    return handed > 0 && fitting < least_ ? 0 : std::clamp(fitting, least_, kMostTogether);
}

NextHandOvers HandOverPace::until(Time due, Time clock) {
    return [this, due = std::move(due), clock = std::move(clock)](std::size_t handed) {
        return next(clock(), due(), handed);
    };
}

std::size_t Rounds::all_together(std::size_t /*handed*/) {
    return kMostTogether;
}

Rounds::Urgency Rounds::urgency_of(const Tracked& tracked, const PollIndex& index) {
    const Object& object = tracked.object;
    const Status& status = object.status;
    if (tracked.is_gone || object.deleted != 0) {
        return Urgency::kLive;
    }
    if (status.job_id.empty() || status.holds("Complete") || status.holds("Failed")) {
        return Urgency::kOther;
    }
    const QueueSight sight = index.sight_of(object);
    const bool has_ended =
        std::any_of(sight.jobs.begin(), sight.jobs.end(), [&](const SeenJob& job) {
            return job.id == status.job_id && submission::is_over(job.state);
        });
    return has_ended ? Urgency::kEnded : Urgency::kLive;
}

std::map<Rounds::Urgency, std::vector<std::string>>
Rounds::by_urgency(const PollIndex& index) const {
    std::map<Urgency, std::vector<std::string>> order;
    const auto add = [&](auto from, auto end) {
        for (; from != end; ++from) {
            order[urgency_of(from->second, index)].push_back(from->first);
        }
    };
    const auto middle = objects_.upper_bound(last_);
    add(middle, objects_.end());
    add(objects_.begin(), middle);
    return order;
}

void Rounds::turn_all(const std::vector<std::string>& uids,
                      const NextHandOvers& next_hand_overs,
                      Going& going) {
    std::size_t most = next_hand_overs(0);
    for (const std::string& uid : uids) {
        last_ = uid;
        const auto found = objects_.find(uid);
        if (found != objects_.end()) {
            turn(found->second, nullptr, going);
            ++going.report.objects;
        }
        if (going.waiting >= most) { // the first of many do not wait for the last
            const std::size_t handed = going.waiting;
            finish(take_hand_overs(going.needs), going);
            most = next_hand_overs(handed);
            if (most == 0) {
                return;
            }
        }
    }
}

void Rounds::settle(Going& going) {
    for (Waiting& one : std::exchange(going.ended, {})) {
        if (const auto found = objects_.find(one.uid); found != objects_.end()) {
            const Answered answered{Need::kTurn, std::move(one.known), {}, {}};
            turn(found->second, &answered, going);
        }
    }
}

RoundReport Rounds::round(Server& server,
                          Cluster& cluster,
                          const World& world,
                          const NextHandOvers& next_hand_overs) {
    RoundReport report;
    batch_ = {};
    const PollIndex index(cluster.poll());
    report.is_complete = index.poll().is_complete;
    const Sides sides{server, cluster, index};
    Going going{sides, world, report};
    for (const auto& [urgency, uids] : by_urgency(index)) {
        turn_all(uids, urgency == Urgency::kOther ? next_hand_overs : all_together, going);
        // Inquiries are made once: of those that ended, too, with those that the queue lacks.
        finish(urgency == Urgency::kEnded ? take_hand_overs(going.needs)
                                          : std::exchange(going.needs, {}),
               going);
    }
    if (world.is_leader) {
        end_late_jobs(index);
    }
    settle(going);
    finish(std::exchange(going.needs, {}), going);
    report.strangers = strangers_of(index);
    return report;
}

std::chrono::milliseconds pause_after(std::chrono::milliseconds poll,
                                      std::chrono::milliseconds answer) {
    constexpr int kTimes = 5;
    return std::max(poll, answer + kTimes * answer);
}

} // namespace cybele::bridge
