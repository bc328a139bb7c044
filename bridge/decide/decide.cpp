// SPDX-License-Identifier: Apache-2.0
#include "bridge/decide/decide.hpp"

#include "bridge/decide/account_failure.hpp"
#include "bridge/decide/ends.hpp"
#include "bridge/decide/written.hpp"
#include "bridge/objects/refusals.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <utility>

namespace cybele::bridge {
namespace {

using Do = Action::Kind;

void act(Decision& decision, Do kind, std::vector<std::string> ids = {}) {
    Action action;
    action.kind = kind;
    action.ids = std::move(ids);
    decision.actions.push_back(std::move(action));
}

/// A status that is as it was is not written.
bool write(Decision& decision, const Case& one, Status status) {
    status.generation = std::max(status.generation, one.object.status.generation);
    Status before = one.object.status;
    before.generation = status.generation;
    if (status == before || one.is_gone) {
        return false;
    }
    Action action;
    action.kind = Do::kWriteStatus;
    action.status = std::move(status);
    decision.actions.push_back(std::move(action));
    return true;
}

enum class EventType { kNormal, kWarning };

void tell(Decision& decision, EventType type, std::string reason, std::string message) {
    Action action;
    action.kind = Do::kEvent;
    action.event = {std::move(reason), std::move(message), type == EventType::kWarning};
    decision.actions.push_back(std::move(action));
}

/// Of the spec itself first: the site cannot change that.
std::optional<Refusal> refusal_of(const Case& one) {
    if (one.object.refusal) {
        return one.object.refusal;
    }
    if (!one.view.refusal && one.view.account.empty()) {
        return Refusal{std::string(kNoAccount), "the namespace has no account on the cluster"};
    }
    return one.view.refusal;
}

void refuse(Decision& decision, const Case& one, const Refusal& refusal) {
    if (write(decision, one, refused_status(one, refusal))) {
        tell(decision, EventType::kWarning, refusal.reason, refusal.message);
    }
}

void admit(Decision& decision, const Case& one) {
    if (one.object.job.is_suspended) {
        write(decision, one, suspended_status(one));
        return;
    }
    const Condition* accepted = one.object.status.find("Accepted");
    const bool was_accepted = accepted != nullptr && accepted->reason == kAcceptedByAdmin;
    const bool is_old = one.object.created != 0 &&
                        one.world.now - one.object.created > one.world.times.keep_records;
    if (const auto refusal = refusal_of(one)) {
        refuse(decision, one, *refusal);
    } else if (is_old && !was_accepted) {
        write(decision, one, too_old_status(one));
    } else if (!one.world.is_rewound) {
        act(decision, Do::kClaim);
    }
}

/// The object says why it waits. Once, although the words of it may differ each time.
void hinder(Decision& decision, const Case& one) {
    const bool is_known = one.object.status.reason == one.view.account_failure.reason;
    if (!one.view.account_failure.empty() && !is_known &&
        desired_state_of(one) == DesiredState::kKeep) {
        write(decision, one, hindered_status(one));
    }
}

void submit(Decision& decision, const Case& one) {
    if (one.object.job.is_suspended) {
        write(decision, one, suspended_status(one));
    } else if (const auto refusal = refusal_of(one)) {
        refuse(decision, one, *refusal);
    } else if (!one.world.is_rewound) {
        hinder(decision, one);
        act(decision, Do::kSubmit);
        decision.actions.back().attempt = one.view.record.claims + 1;
    }
}

std::string id_of_end(const std::optional<SeenJob>& end) {
    return !end || end->id.empty() ? "0" : end->id;
}

void record_id(Decision& decision, const Case& one) {
    const SeenJob* job = job_of(one);
    std::string id = job != nullptr ? job->id : one.view.record.answer;
    if (id.empty()) {
        // Its number is lost with the scheduler's memory of it; the record says how it ended.
        id = id_of_end(one.view.record.end);
    }
    write(decision, one, prepared_status(one, id));
    std::string words = "job " + id + " as " + one.view.account;
    if (!one.view.record.remark.empty()) {
        words += "; the batch system said: " + one.view.record.remark;
    }
    tell(decision, EventType::kNormal, "Submitted", std::move(words));
}

void release(Decision& decision, const Case& one) {
    const std::string& id = one.object.status.job_id;
    if (one.object.job.is_suspended) {
        write(decision, one, suspended_status(one));
    } else if (!one.view.record.was_read) {
        hinder(decision, one);
        act(decision, Do::kSearch);
    } else {
        act(decision, Do::kRelease, {id});
    }
}

/// The first witness that says how the job ended.
const SeenJob* witness_of(const Case& one) {
    const SeenJob* job = job_of(one);
    if (job != nullptr && is_explained(*job)) {
        return job;
    }
    if (one.view.record.end) {
        return &*one.view.record.end;
    }
    return one.view.accounted.job && is_explained(*one.view.accounted.job)
               ? &*one.view.accounted.job
               : nullptr;
}

/// Results bring the last of the output with them.
bool needs_output(const Case& one) {
    return one.world.reads_tails && !one.view.output.was_asked && !one.object.spec.results &&
           one.object.deleted == 0 && one.view.has_way;
}

void conclude(Decision& decision, const Case& one) {
    if (needs_output(one)) {
        act(decision, Do::kReadOutput);
        return;
    }
    const SeenJob* witness = witness_of(one);
    Status status = witness != nullptr
                        ? ended_status(one, *witness)
                        : given_up_status(one,
                                          kLeftNoTrace,
                                          "neither queue nor accounting know the job, and it "
                                          "left no record of its end");
    if (one.view.output.was_asked) {
        status.output = one.view.output.paths;
        status.tail = one.view.output.tail;
    }
    const std::string reason = status.reason;
    write(decision, one, std::move(status));
    const bool is_done = witness != nullptr && witness->state == submission::State::kDone;
    tell(decision, is_done ? EventType::kNormal : EventType::kWarning, "Ended", reason);
}

void give_up(Decision& decision, const Case& one) {
    const std::string& words = one.view.record.refusal;
    std::string_view reason = kSubmissionUnclear;
    std::string_view message = "the batch system never said whether it accepted the job";
    if (!words.empty()) {
        reason = kRefusedBySystem;
        message = words;
    } else if (one.view.record.is_closed) {
        reason = kRewound;
        message = "the object had been deleted before a backup was restored; create it again";
    }
    write(decision, one, given_up_status(one, reason, message));
    tell(decision, EventType::kWarning, std::string(reason), std::string(message));
}

/// Whether the queue shows the id, and it came again for a job that is not the object's.
bool is_of_another(const std::string& id, const Case& one) {
    const auto& seen = one.view.queue.jobs;
    return std::ranges::any_of(
        seen, [&](const SeenJob& job) { return job.id == id && !is_ours(job, one); });
}

void cancel(Decision& decision, const Case& one) {
    std::vector<std::string> ids = living_ids(one);
    const std::string& known =
        one.object.status.job_id.empty() ? one.view.record.answer : one.object.status.job_id;
    if (ids.empty() && !known.empty() && !is_of_another(known, one)) {
        ids.push_back(known);
    }
    const AccountFailure& failure = one.view.account_failure;
    write(decision,
          one,
          failure.empty() ? cancelling_status(one, "True", "Deleted")
                          : cancelling_status(one, "False", failure.reason, failure.message));
    const bool is_time = one.memory.cancel_asked == 0 ||
                         one.world.now - one.memory.cancel_asked >= one.world.times.cancel_again;
    if (is_time && !ids.empty()) {
        act(decision, Do::kCancel, std::move(ids));
        decision.memory.cancel_asked = one.world.now;
    }
}

void unreachable(Decision& decision, const Case& one) {
    if (desired_state_of(one) == DesiredState::kKeep) {
        const auto refusal = refusal_of(one);
        const bool has_lost_row =
            refusal && one.object.status.job_id.empty() &&
            (refusal->reason == kNoAccount || refusal->reason == kAccountNotAdmitted);
        if (has_lost_row) { // after it was claimed: it waits for the row, and is searched for then
            refuse(decision, one, *refusal);
        }
        return; // else it waits, and nothing about it changed
    }
    const bool has_no_way = one.view.account.empty() || !one.view.has_way;
    const std::string_view reason = has_no_way ? kNoAccount : "Unreachable";
    if (write(decision, one, cancelling_status(one, "False", reason))) {
        tell(decision,
             EventType::kWarning,
             std::string(reason),
             has_no_way ? "the deletion waits: the Bridge has no row with the account of the job"
                        : "the deletion waits for the batch system");
    }
}

/// What is done on the cluster as the account of the job.
bool needs_way(Step step) {
    constexpr Step kSteps[] = {
        Step::kSearch, Step::kClose, Step::kInquire, Step::kSubmit, Step::kRelease, Step::kCancel};
    return contains(kSteps, step);
}

void let_go(Decision& decision, const Case& one) {
    if (one.is_gone) {
        act(decision, Do::kForget);
        return;
    }
    if (desired_state_of(one) == DesiredState::kOrphan && stage_of(one) != Stage::kOver &&
        one.view.has_way) {
        act(decision, Do::kNoteOrphan);
    }
    if (one.object.has_finalizer()) {
        act(decision, Do::kLetGo);
    }
}

/// A copy that failed for a reason that may pass.
bool may_be_repeated(const Condition& collected) {
    constexpr std::string_view kPassing[] = {"CopyFailed", "CollectorFailed", "CollectorRefused"};
    return collected.status == "False" && contains(kPassing, collected.reason);
}

/// How long after the first failure results are given up.
bool is_repeated(const Condition& collected, const Case& one) {
    const Times& times = one.world.times;
    return may_be_repeated(collected) && one.object.deleted == 0 &&
           one.world.now - collected.changed < times.collect_again * (times.collect_repeats + 1);
}

bool are_results_settled(const Case& one) {
    const Condition* collected = one.object.status.find("ResultsCollected");
    const bool has_none = !one.object.spec.results || one.object.status.job_id.empty();
    const bool is_final =
        collected != nullptr && collected->status != "Unknown" && !is_repeated(*collected, one);
    const Condition* failed = one.object.status.find("Failed");
    const bool was_cancelled = failed != nullptr && failed->reason == "Cancelled";
    return has_none || is_final || was_cancelled;
}

/// Whether a copy is under way or is to begin now.
bool is_copy_due(Decision& decision, const Case& one) {
    Memory& memory = decision.memory;
    if (memory.is_collecting) {
        return true;
    }
    const Condition* collected = one.object.status.find("ResultsCollected");
    const std::int64_t last =
        std::max(collected != nullptr ? collected->changed : 0, memory.collect_try);
    if (collected != nullptr && one.world.now - last < one.world.times.collect_again) {
        return false;
    }
    memory.is_collecting = true;
    memory.collect_try = one.world.now;
    return true;
}

void collect(Decision& decision, const Case& one) {
    // A twin that may come while results are copied would outlive its object.
    if (!one.view.queue.is_complete) {
        return;
    }
    const bool is_late = one.object.deleted != 0 && one.memory.collect_since != 0 &&
                         one.world.now - one.memory.collect_since >= one.world.times.collect;
    if (are_results_settled(one) || is_late) {
        let_go(decision, one);
        return;
    }
    if (decision.memory.collect_since == 0) {
        decision.memory.collect_since = one.world.now;
    }
    if (is_copy_due(decision, one)) {
        act(decision, Do::kCollect);
        decision.actions.back().begun = decision.memory.collect_try;
    }
}

void expire(Decision& decision, const Case& one) {
    const Condition* end =
        one.object.status.find(one.object.status.holds("Complete") ? "Complete" : "Failed");
    if (one.object.spec.seconds_to_live && end != nullptr &&
        one.world.now - end->changed >= *one.object.spec.seconds_to_live) {
        act(decision, Do::kRemove);
    }
}

/// Jobs that came late are ended while they are held; the object does not go before they did.
/// Whether there are any.
bool end_twins(Decision& decision, const Case& one) {
    const auto twins = twins_of(one);
    std::vector<std::string> held;
    std::string running;
    for (const SeenJob* twin : twins) {
        if (twin->state == submission::State::kHeld) {
            held.push_back(twin->id);
        } else {
            running += (running.empty() ? "" : ", ") + twin->id;
        }
    }
    if (!running.empty() && !one.memory.has_told_twin) { // not at each poll
        tell(decision,
             EventType::kWarning,
             "SecondJob",
             "a second job has this object's uid: " + running);
    }
    decision.memory.has_told_twin = !running.empty();
    if (!held.empty() && one.view.has_way) {
        act(decision, Do::kCancel, held);
    }
    return !held.empty();
}

void ask(Decision& decision, Do kind, bool is_asked) {
    if (!is_asked) {
        act(decision, kind);
    }
}

void add_actions(Decision& decision, const Case& one) {
    const RecordObservation& record = one.view.record;
    const SeenJob* job = job_of(one);
    if (!one.view.has_way && needs_way(decision.step)) {
        return unreachable(decision, one);
    }
    switch (decision.step) {
    case Step::kAdmit:
        return admit(decision, one);
    case Step::kSearch:
        hinder(decision, one);
        return ask(decision, Do::kSearch, record.was_read);
    case Step::kClose:
        return ask(decision, Do::kClose, record.is_closed);
    case Step::kInquire:
        return ask(decision, Do::kInquire, one.view.accounted.was_asked && record.was_read);
    case Step::kSubmit:
        return submit(decision, one);
    case Step::kRecordId:
        return record_id(decision, one);
    case Step::kRelease:
        return release(decision, one);
    case Step::kFollow:
        if (job != nullptr) {
            write(decision, one, followed_status(one, *job));
        }
        return;
    case Step::kConclude:
        return conclude(decision, one);
    case Step::kGiveUp:
        return give_up(decision, one);
    case Step::kCollect:
        return collect(decision, one);
    case Step::kCancel:
        return cancel(decision, one);
    case Step::kUnreachable:
        return unreachable(decision, one);
    case Step::kLetGo:
        return let_go(decision, one);
    case Step::kExpire:
        return expire(decision, one);
    case Step::kForget:
        return act(decision, Do::kForget);
    case Step::kWait:
        return;
    }
}

/// The cluster was not restored when the API server was: an object with another id than that of its
/// record is from a past in which nothing was let go, or its status was forged.
bool has_foreign_id(const Case& one) {
    const std::string& released = one.view.record.released;
    const DesiredState wish = desired_state_of(one);
    return (wish == DesiredState::kKeep || wish == DesiredState::kOrphan) && !released.empty() &&
           released != one.object.status.job_id;
}

bool lets_go(const Action& action) {
    return action.kind == Do::kLetGo || action.kind == Do::kRemove || action.kind == Do::kForget;
}

} // namespace

Decision decide(const Case& one) {
    Decision decision;
    decision.memory = one.memory;
    if (!one.world.is_leader) {
        return decision;
    }
    const Stage stage = stage_of(one);
    const DesiredState wish = desired_state_of(one);
    const StepRow& row = step_of(stage, wish, seen_state_of(one));
    decision.step = row.step;
    decision.why = row.why;
    const bool is_live = stage == Stage::kPrepared || stage == Stage::kLive;
    if (is_live && wish == DesiredState::kKeep && !one.object.has_finalizer()) {
        act(decision, Do::kClaim); // somebody took it off
    }
    if (is_live && has_foreign_id(one)) {
        write(decision, one, prepared_status(one, one.view.record.released));
        return decision;
    }
    const bool has_twins = decision.step != Step::kCancel && end_twins(decision, one);
    const std::size_t first = decision.actions.size();
    add_actions(decision, one);
    if (has_twins) {
        const auto begin = decision.actions.begin() + static_cast<std::ptrdiff_t>(first);
        decision.actions.erase(std::remove_if(begin, decision.actions.end(), lets_go),
                               decision.actions.end());
    }
    return decision;
}

} // namespace cybele::bridge
