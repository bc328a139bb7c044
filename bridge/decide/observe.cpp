// SPDX-License-Identifier: Apache-2.0
#include "bridge/decide/observe.hpp"

#include "bridge/decide/ends.hpp"

#include <algorithm>

namespace cybele::bridge {
namespace {

/// Shorter numbers are lower; the rest of an id is the server's name.
bool is_lower(const std::string& one, const std::string& other) {
    return one.size() != other.size() ? one.size() < other.size() : one < other;
}

/// A job that somebody let go comes before one that is held, one that lives, or may be requeued,
/// before one that ended.
int rank_of(const SeenJob& job) {
    if (submission::is_over(job.state)) {
        return may_be_requeued(job) ? 0 : 2;
    }
    return job.state == submission::State::kHeld ? 1 : 0;
}

bool is_before(const SeenJob& one, const SeenJob& other) {
    return rank_of(one) != rank_of(other) ? rank_of(one) < rank_of(other)
                                          : is_lower(one.id, other.id);
}

bool has_ended(const SeenJob& job) {
    return submission::is_over(job.state);
}

SeenState sight_of_end(const SeenJob& job, const Case& one) {
    if (may_be_requeued(job)) {
        const bool is_settled = one.memory.dying_since != 0 &&
                                one.memory.dying_restarts == job.restarts &&
                                one.world.now - one.memory.dying_since >= one.world.times.dying;
        return is_settled ? SeenState::kEnded : SeenState::kDying;
    }
    return is_explained(job) ? SeenState::kEnded : SeenState::kUnclear;
}

SeenState sight_of_job(const SeenJob& job, const Case& one) {
    if (has_ended(job)) {
        return sight_of_end(job, one);
    }
    if (job.state != submission::State::kHeld) {
        return SeenState::kAlive;
    }
    return job.reason == "JobHeldAdmin" ? SeenState::kAdminHeld : SeenState::kHeld;
}

bool is_long_missing(const Case& one) {
    return one.memory.absences >= 2 &&
           one.world.now - one.memory.missing_since >= one.world.times.vanished;
}

/// The queue shows no job of an object in which no id stands.
SeenState sight_of_claim(const Case& one) {
    const RecordObservation& record = one.view.record;
    const bool is_kept = desired_state_of(one) == DesiredState::kKeep;
    if (!record.was_read || (!is_kept && !record.is_closed)) {
        return SeenState::kUnsearched;
    }
    if (record.end) {
        return SeenState::kEnded;
    }
    if (!record.answer.empty()) {
        return !is_kept && is_long_missing(one) ? SeenState::kLost : SeenState::kAnswered;
    }
    if (!record.refusal.empty()) {
        return SeenState::kRefused;
    }
    // Closed, and the object is there again: a backup was restored that knows of no deletion.
    const bool is_last = record.is_closed || record.claims >= one.world.times.attempts;
    if (record.claims == 0) {
        return is_last ? SeenState::kExhausted : SeenState::kAbsent;
    }
    const bool is_certain = record.is_submitter_gone && record.claim_age >= one.world.times.claim &&
                            one.memory.absences >= 2;
    if (!is_certain) {
        return SeenState::kUnproven;
    }
    return is_last ? SeenState::kExhausted : SeenState::kAbsent;
}

/// The queue does not show the job whose id stands in the object.
SeenState sight_of_missing(const Case& one) {
    if (!one.view.accounted.was_asked || !one.view.record.was_read) {
        return SeenState::kUnsearched;
    }
    const auto& accounted = one.view.accounted.job;
    const bool is_accounted = accounted && has_ended(*accounted) && is_explained(*accounted);
    if (one.view.record.end || is_accounted) {
        return SeenState::kEnded;
    }
    return is_long_missing(one) ? SeenState::kLost : SeenState::kUnproven;
}

/// A job that ended, but the queue does not say how.
SeenState sight_of_unclear(const Case& one) {
    const bool was_inquired = one.view.accounted.was_asked && one.view.record.was_read;
    const SeenState missing = was_inquired ? sight_of_missing(one) : SeenState::kUnclear;
    return missing == SeenState::kUnproven ? SeenState::kUnclear : missing;
}

/// Where there were several hand-overs, the last one may still bring a job. If the object were
/// removed now, that job would stay in the queue. With one claim this cannot happen.
std::optional<SeenState> sight_of_late_twin(const Case& one) {
    const RecordObservation& record = one.view.record;
    const bool has_no_id = one.object.status.job_id.empty();
    const bool is_read = record.was_read && (record.is_closed || !has_no_id);
    if (has_no_id ? !is_read : !is_read && one.object.status.attempt > 1) {
        return SeenState::kUnsearched;
    }
    const bool is_old = record.is_submitter_gone && record.claim_age >= one.world.times.claim;
    return record.claims > 1 && !is_old ? std::optional(SeenState::kUnproven) : std::nullopt;
}

} // namespace

bool is_ours(const SeenJob& job, const Case& one) {
    if (one.view.account.empty() || job.owner != one.view.account) {
        return false;
    }
    if (job.token == one.object.uid) {
        return true;
    }
    // Another token is another object's job, whose id came again after a reset.
    const bool was_erased = job.token.empty() && one.view.record.answer == job.id;
    const Status& status = one.object.status;
    const bool is_another_run = status.started != 0 && job.started != 0 &&
                                status.started != job.started && status.restarts == job.restarts;
    return was_erased && !is_another_run;
}

bool is_elsewhere(const Object& object, const World& world) {
    const Status& status = object.status;
    return !status.job_id.empty() && !status.site.empty() && !world.site.empty() &&
           status.site != world.site;
}

Stage stage_of(const Case& one) {
    const Status& status = one.object.status;
    if (is_elsewhere(one.object, one.world)) {
        return Stage::kElsewhere;
    }
    const bool is_held_by_us = one.object.has_finalizer();
    if (status.holds("Complete") || status.holds("Failed")) {
        return is_held_by_us ? Stage::kOver : Stage::kDone;
    }
    if (status.job_id.empty()) {
        const bool was_claimed = one.is_gone && one.memory.was_claimed;
        return is_held_by_us || was_claimed ? Stage::kClaimed : Stage::kNew;
    }
    return status.state == "Prepared" ? Stage::kPrepared : Stage::kLive;
}

DesiredState desired_state_of(const Case& one) {
    const bool is_orphan = one.object.spec.on_delete == OnDelete::kOrphan;
    if (one.is_gone) {
        return DesiredState::kGone;
    }
    if (one.object.deleted == 0) {
        return DesiredState::kKeep;
    }
    return is_orphan ? DesiredState::kOrphan : DesiredState::kCancel;
}

const SeenJob* job_of(const Case& one) {
    const SeenJob* best = nullptr;
    if (is_elsewhere(one.object, one.world)) {
        return best;
    }
    const std::string& id = one.object.status.job_id;
    // What was ever let go has its id in the record, which outlives queue and API server.
    const std::string& answer = one.view.record.answer;
    for (const SeenJob& job : one.view.queue.jobs) {
        const bool was_let_go = rank_of(job) == 0;
        const bool fits =
            id.empty() ? answer.empty() || was_let_go || job.id == answer : job.id == id;
        if (is_ours(job, one) && fits && (best == nullptr || is_before(job, *best))) {
            best = &job;
        }
    }
    return best;
}

std::vector<const SeenJob*> twins_of(const Case& one) {
    std::vector<const SeenJob*> twins;
    const std::string& id = one.object.status.job_id;
    const Stage stage = stage_of(one);
    // Of an object that gave up, every job is one too many.
    const bool has_decided = !id.empty() || stage == Stage::kOver || stage == Stage::kDone;
    for (const SeenJob& job : one.view.queue.jobs) {
        const bool is_the_one = job.id == id && stage != Stage::kElsewhere;
        if (has_decided && !is_the_one && is_ours(job, one) && !has_ended(job)) {
            twins.push_back(&job);
        }
    }
    return twins;
}

std::vector<std::string> living_ids(const Case& one) {
    std::vector<std::string> ids;
    for (const SeenJob& job : one.view.queue.jobs) {
        if (is_ours(job, one) && !has_ended(job)) {
            ids.push_back(job.id);
        }
    }
    return ids;
}

SeenState seen_state_of(const Case& one) {
    if (one.view.account.empty() || !one.view.queue.is_complete) {
        return SeenState::kSilent;
    }
    const DesiredState desired_state = desired_state_of(one);
    const bool ends_all =
        desired_state == DesiredState::kCancel || desired_state == DesiredState::kGone;
    const bool has_no_id = one.object.status.job_id.empty();
    if (desired_state == DesiredState::kKeep && has_no_id && !one.view.record.was_read) {
        return SeenState::kUnsearched;
    }
    const SeenJob* job = job_of(one);
    if (ends_all && (job == nullptr || has_ended(*job)) && !living_ids(one).empty()) {
        return SeenState::kAlive;
    }
    if (job == nullptr) {
        return has_no_id ? sight_of_claim(one) : sight_of_missing(one);
    }
    if (ends_all && has_ended(*job)) {
        if (const auto seen_state = sight_of_late_twin(one)) {
            return *seen_state;
        }
    }
    const SeenState seen_state = sight_of_job(*job, one);
    return seen_state == SeenState::kUnclear ? sight_of_unclear(one) : seen_state;
}

Memory observed(const Case& one) {
    Memory memory = one.memory;
    memory.was_claimed = memory.was_claimed || one.object.has_finalizer();
    if (!one.view.queue.is_complete) {
        memory.silent_since = memory.silent_since == 0 ? one.world.now : memory.silent_since;
        return memory;
    }
    memory.silent_since = 0;
    const SeenJob* job = job_of(one);
    const bool is_known = job != nullptr && (!has_ended(*job) || is_explained(*job));
    memory.absences = is_known ? 0 : memory.absences + 1;
    if (is_known) {
        memory.missing_since = 0;
    } else if (memory.missing_since == 0) {
        memory.missing_since = one.world.now;
    }
    if (job == nullptr || !may_be_requeued(*job)) {
        memory.dying_since = 0;
    } else if (memory.dying_since == 0 || memory.dying_restarts != job->restarts) {
        memory.dying_since = one.world.now;
        memory.dying_restarts = job->restarts;
    }
    return memory;
}

} // namespace cybele::bridge
