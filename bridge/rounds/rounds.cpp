// SPDX-License-Identifier: Apache-2.0
#include "bridge/rounds/rounds.hpp"

#include "bridge/decide/observe.hpp"
#include "bridge/objects/patterns.hpp"

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

/// A bound on the writes of one object between two answers.
constexpr int kMostWrites = 12;

/// Turns that wait for their writes: then these are sent, and the queue may be read.
constexpr std::size_t kMostWaiting = 50;

/// What the last answer was to: a write that came after it is none.
Need asked_of(const Answered* answered) {
    if (answered == nullptr) {
        return Need::kNothing;
    }
    return answered->need == Need::kWrite ? answered->pause.asked : answered->need;
}

/// What a job that is elsewhere left here, if anything, belongs to the account of here.
View view_of(const Object& object,
             const Admitted& admitted,
             const RoundContext& sides,
             bool is_foreign) {
    View view;
    view.refusal = admitted.refusal;
    view.account =
        object.status.account.empty() || is_foreign ? admitted.account : object.status.account;
    const bool is_admitted = is_foreign || admitted.has_account;
    view.has_way = view.account.empty() || (is_admitted && sides.cluster.serves(view.account));
    view.account_failure = sides.cluster.failure_of(view.account);
    view.queue = sides.index.seen_state_of(object);
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

bool Rounds::has_claimed_in(const std::string& space) const {
    return std::ranges::any_of(objects_, [&](const auto& one) {
        const Object& object = one.second.object;
        return !one.second.is_gone && object.space == space && object.has_finalizer();
    });
}

/// Of too many the oldest is forgotten: a late job comes soon, or not at all.
void Rounds::keep_departed(const std::string& uid, Departed departed) {
    if (departures_.size() >= kMostDeparted) {
        departed_.erase(departures_.front());
        departures_.pop_front();
    }
    departed_[uid] = std::move(departed);
    departures_.push_back(uid);
}

void Rounds::turn(Tracked& tracked, const Answered* answered, Going& going) {
    const RoundContext& sides = going.sides;
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
        if (!view.account.empty()) {
            keep_departed(uid, {view.account, is_orphan ? object.status.job_id : std::string()});
        }
        objects_.erase(uid);
        return;
    }
    if (outcome.need == Need::kTurn) {
        going.ended.push_back({uid, 0, std::move(outcome.known)});
        outcome.need = Need::kNothing;
    }
    if (outcome.pause) {
        going.writes.push_back(
            {uid, view.account, std::move(outcome.known), std::move(*outcome.pause)});
    } else if (outcome.need != Need::kNothing && asked_of(answered) != outcome.need &&
               !outcome.must_read) {
        going.needs[{view.account, outcome.need}].push_back(
            {uid, outcome.attempt, std::move(outcome.known)});
        busy_.insert(uid);
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
    const auto put_record = [](Answered& answer, RecordObservation record) {
        answer.found.record = std::move(record);
    };
    if (need == Need::kInquiry) {
        fill(cluster.inquire(objects, account),
             [](Answered& answer, JobObservation found) { answer.found = std::move(found); });
    } else if (need == Need::kOutput) {
        fill(cluster.read_outputs(objects, account),
             [](Answered& answer, OutputObservation output) { answer.output = std::move(output); });
    } else if (need == Need::kSubmit) {
        fill(cluster.submit_many(hand_overs, account), put_record);
    } else {
        fill(cluster.search_many(objects, account), put_record);
    }
    return answers;
}

/// Inquiries are made once for all objects.
Rounds::Needs Rounds::take_hand_overs(Needs& needs, const std::string& account) {
    Needs taken;
    for (auto group = needs.begin(); group != needs.end();) {
        const auto next = std::next(group);
        const bool is_asked = account.empty() || group->first.first == account;
        if (is_asked && group->first.second != Need::kInquiry) {
            taken.insert(needs.extract(group));
        }
        group = next;
    }
    return taken;
}

/// Objects that wait for an answer or a write, by account, without inquiries.
std::map<std::string, std::size_t> Rounds::waiting_of(const Going& going) {
    std::map<std::string, std::size_t> waiting;
    for (const auto& [group, all] : going.needs) {
        if (group.second != Need::kInquiry) {
            waiting[group.first] += all.size();
        }
    }
    for (const Writing& one : going.writes) {
        ++waiting[one.account];
    }
    return waiting;
}

void Rounds::write_out(Going& going) {
    for (int more = 0; more < kMostWrites && !going.writes.empty(); ++more) {
        std::vector<Writing> all = std::exchange(going.writes, {});
        std::vector<ObjectWrite> writes;
        writes.reserve(all.size());
        for (const Writing& one : all) {
            writes.push_back({&objects_.at(one.uid).object, &one.pause.write});
        }
        std::vector<Written> written = going.sides.server.write_all(writes);
        for (std::size_t at = 0; at < all.size(); ++at) {
            Writing& one = all[at];
            const Answered answered{Need::kWrite,
                                    std::move(one.known),
                                    {},
                                    {},
                                    std::move(one.pause),
                                    std::move(written.at(at))};
            turn(objects_.at(one.uid), &answered, going);
        }
    }
    going.writes.clear(); // would be decided again in the next round
}

/// Hand-overs in several round trips: each job's id is in its object before the next one begins.
void Rounds::finish(const std::string& account,
                    Need need,
                    const std::vector<Waiting>& all,
                    Going& going) {
    for (auto begin = all.begin(); begin != all.end();) {
        look_for_ends(going);
        const auto left = static_cast<std::size_t>(all.end() - begin);
        const std::size_t count = need == Need::kSubmit && going.pace != nullptr
                                      ? std::min(left, going.pace->trip(account))
                                      : left;
        const std::vector<Waiting> trip(begin, begin + static_cast<std::ptrdiff_t>(count));
        asking_ = &going;
        const auto answers = ask(account, need, trip, going.sides.cluster);
        asking_ = nullptr;
        look_for_ends(going);
        for (std::size_t at = 0; at < trip.size(); ++at) {
            turn(objects_.at(trip[at].uid), &answers[at], going);
        }
        write_out(going);
        begin += static_cast<std::ptrdiff_t>(count);
    }
}

void Rounds::finish(Needs needs, Going& going) {
    write_out(going);
    Needs others = std::exchange(going.needs, {}); // those that wait for the end of the round
    for (int more = 0; more < kMostAnswers && !needs.empty(); ++more) {
        for (const auto& [group, all] : needs) {
            finish(group.first, group.second, all, going);
        }
        needs = std::exchange(going.needs, {});
    }
    going.needs = std::move(others);
    if (going.world.is_leader) {
        asking_ = &going;
        perform_batch(std::exchange(batch_, {}), going.sides);
        asking_ = nullptr;
    }
}

/// A round trip of many hand-overs is longer than the pause between two polls may be.
void Rounds::meanwhile() {
    if (Going* going = std::exchange(asking_, nullptr)) {
        look_for_ends(*going);
        asking_ = going;
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

std::vector<SeenJob> Rounds::unknown_jobs_of(const PollIndex& index) const {
    std::vector<SeenJob> unknown_jobs;
    for (const SeenJob& job : index.poll().jobs) {
        if (is_uid(job.token) && !submission::is_over(job.state) && !objects_.contains(job.token) &&
            !departed_.contains(job.token)) {
            unknown_jobs.push_back(job);
        }
    }
    return unknown_jobs;
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
    const QueueObservation sight = index.seen_state_of(object);
    const bool has_ended = std::ranges::any_of(sight.jobs, [&](const SeenJob& job) {
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

void Rounds::turn_of(const std::string& uid, Going& going) {
    if (const auto found = objects_.find(uid); found != objects_.end()) {
        last_ = uid;
        turn(found->second, nullptr, going);
        ++going.report.objects;
        if (going.writes.size() >= kMostWaiting) {
            write_out(going);
        }
        look_for_ends(going);
    }
}

void Rounds::turn_all(const std::vector<std::string>& uids, Going& going) {
    for (const std::string& uid : uids) {
        turn_of(uid, going);
        // The first of many do not wait for the last.
        for (const auto& [account, count] : waiting_of(going)) {
            if (count >= HandOverPace::kMostTogether) {
                write_out(going);
                finish(take_hand_overs(going.needs, account), going);
            }
        }
    }
    write_out(going);
}

bool Rounds::must_wait(const Tracked& tracked, Going& going) const {
    if (going.full.empty()) {
        return false;
    }
    const std::string& known = tracked.object.status.account;
    const std::string account = known.empty() ? admission_(tracked.object).account : known;
    if (!going.full.contains(account)) {
        return false;
    }
    if (going.skipped.insert(account).second) {
        going.full[account] = last_;
    }
    return true;
}

void Rounds::hand_over_all(const std::vector<std::string>& uids, Going& going) {
    if (going.pace == nullptr) {
        turn_all(uids, going);
        return;
    }
    HandOverPace& pace = *going.pace;
    pace.begin_hand_overs();
    for (const std::string& uid : uids) {
        const auto found = objects_.find(uid);
        if (found == objects_.end() || must_wait(found->second, going)) {
            continue;
        }
        turn_of(uid, going);
        for (const auto& [account, all] : waiting_of(going)) {
            if (all >= pace.room(account)) {
                write_out(going);
            }
        }
        for (const auto& [account, count] : waiting_of(going)) {
            if (count < pace.room(account) || !going.writes.empty()) {
                continue;
            }
            finish(take_hand_overs(going.needs, account), going);
            pace.handed(account, count);
            if (pace.room(account) == 0) {
                going.full.emplace(account, std::string());
            }
        }
    }
    write_out(going);
    begin_next_at(going);
}

/// Of several accounts each has its turn to be the first.
void Rounds::begin_next_at(const Going& going) {
    if (going.skipped.empty()) {
        return;
    }
    const auto after = going.skipped.upper_bound(first_served_);
    first_served_ = after != going.skipped.end() ? *after : *going.skipped.begin();
    last_ = going.full.at(first_served_);
}

void Rounds::look_for_ends(Going& going) {
    if (going.pace == nullptr || !going.sides.index.poll().is_complete || !going.writes.empty() ||
        !going.pace->is_poll_due()) {
        return;
    }
    going.pace->polled();
    const PollIndex index(going.sides.cluster.poll_again());
    if (!index.poll().is_complete) {
        return;
    }
    Batch kept = std::exchange(batch_, {});
    const RoundContext sides{going.sides.server, going.sides.cluster, index};
    World world = going.world;
    world.now += going.pace->length_of_round().count();
    Going between{sides, world, going.report};
    auto order = by_urgency(index);
    for (const std::string& uid : order[Urgency::kEnded]) {
        const auto found = objects_.find(uid);
        if (found != objects_.end() && !busy_.contains(uid)) {
            turn(found->second, nullptr, between);
        }
    }
    write_out(between);
    finish(take_hand_overs(between.needs), between); // inquiries wait for the next round
    batch_ = std::move(kept);
    std::move(between.ended.begin(), between.ended.end(), std::back_inserter(going.ended));
}

void Rounds::settle(Going& going) {
    for (Waiting& one : std::exchange(going.ended, {})) {
        if (const auto found = objects_.find(one.uid); found != objects_.end()) {
            const Answered answered{Need::kTurn, std::move(one.known), {}, {}};
            turn(found->second, &answered, going);
        }
    }
    write_out(going);
}

RoundReport
Rounds::round(Server& server, Cluster& cluster, const World& world, HandOverPace* pace) {
    RoundReport report;
    batch_ = {};
    asking_ = nullptr;
    busy_.clear();
    const PollIndex index(cluster.poll());
    report.is_complete = index.poll().is_complete;
    const RoundContext sides{server, cluster, index};
    Going going{sides, world, report, pace};
    for (const auto& [urgency, uids] : by_urgency(index)) {
        if (urgency == Urgency::kOther) {
            hand_over_all(uids, going);
        } else {
            turn_all(uids, going);
        }
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
    report.unknown_jobs = unknown_jobs_of(index);
    return report;
}

std::chrono::milliseconds pause_after(std::chrono::milliseconds poll,
                                      std::chrono::milliseconds answer) {
    constexpr int kTimes = 5;
    return std::max(poll, answer + kTimes * answer);
}

} // namespace cybele::bridge
