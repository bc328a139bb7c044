// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/conclude.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

namespace cybele::submission {
namespace {

constexpr const char* kNeverBegan =
    "never started: a job that it was to follow did not end as asked, or is not known";
constexpr const char* kNoTrace = "the scheduler does not know it, and it left no record";

void end(Entry& entry, State state, std::int64_t at) {
    entry.state = state;
    entry.ended = at;
    entry.missing_since = 0;
}

/// What the scheduler says of why a script was told to end; null: nothing.
const JobStatus* explanation_of(const JobStatus* seen) {
    const bool explains = seen != nullptr && is_over(seen->state) && seen->state != State::kLost;
    return explains ? seen : nullptr;
}

void take_record(const ExitRecord& record, Entry& entry) {
    entry.started = record.start;
    entry.code = record.code;
    entry.node = entry.node.empty() ? record.host : entry.node; // of several it is the first
    entry.signal = record.signal;
    if (!record.reason.empty()) {
        entry.reason = record.reason;
    }
}

/// Why Slurm let a job wait, which it still shows of one that was cancelled meanwhile.
bool is_reason_to_wait(std::string_view reason) {
    constexpr std::array<std::string_view, 14> kReasons{"Resources",
                                                        "Priority",
                                                        "Dependency",
                                                        "BeginTime",
                                                        "JobHeld",
                                                        "JobArrayTaskLimit",
                                                        "Licenses",
                                                        "Reservation",
                                                        "ReqNodeNotAvail",
                                                        "Nodes_required_for_job",
                                                        "Partition",
                                                        "Assoc",
                                                        "QOS",
                                                        "Cleaning"};
    return !reason.starts_with("DependencyNeverSatisfied") && // it is why the job was cancelled
           std::ranges::any_of(
               kReasons, [reason](std::string_view known) { return reason.starts_with(known); });
}

/// Slurm's number for a batch script that it could not start; the job got no signal.
constexpr int kLaunchFailure = 53;
bool was_not_launched(const JobStatus& seen) {
    return seen.signal == kLaunchFailure &&
           (seen.reason == "JobLaunchFailure" || seen.reason.starts_with("RaisedSignal:53"));
}

void take_words(const JobStatus& seen, Entry& entry) {
    entry.native = seen.native;
    entry.reason = seen.state == State::kCancelled && is_reason_to_wait(seen.reason) ? ""
                   : was_not_launched(seen)
                       ? "Slurm could not start it, which happens where its log cannot be opened: "
                         "the folder is missing or was removed, or has a `%` in its name: " +
                             entry.standard_output
                       : seen.reason;
    entry.node = seen.node.empty() ? entry.node : seen.node;
    entry.expected = 0;
    (void)std::from_chars(seen.start.data(), seen.start.data() + seen.start.size(), entry.expected);
}

/// The end as a scheduler tells it, where it tells it whole.
bool take_end(const JobStatus& seen, const Evidence& evidence, Entry& entry) {
    take_words(seen, entry);
    switch (seen.state) {
    case State::kDone:
        entry.code = 0;
        break;
    case State::kFailed:
        if (!seen.code && seen.signal == 0) {
            return false;
        }
        entry.code = seen.code.value_or(-1);
        entry.signal = was_not_launched(seen) ? 0 : seen.signal;
        entry.code = was_not_launched(seen) ? 1 : entry.code; // no program had one
        break;
    case State::kCancelled:
    case State::kTimeout:
    case State::kPreempted:
        entry.signal = seen.signal;
        break;
    default:
        return false;
    }
    // Killed after it was asked to end, a job was cancelled, whatever the number says.
    const bool was_killed = entry.cancel_asked != 0 && seen.signal != 0;
    end(entry, was_killed ? State::kCancelled : seen.state, evidence.now);
    return true;
}

/// Whether the scheduler took a job back to its queue after the turn that left this record, as it
/// does with PreemptMode=REQUEUE: the job waits there, or has started a second time.
bool was_requeued(const ExitRecord& record, const JobStatus& seen) {
    return seen.state == State::kPending || seen.state == State::kHeld ||
           (seen.state == State::kRunning && record.end > 0 && seen.began > record.end);
}

/// Whether the scheduler may still say why a script was told to end. Until it was asked nothing is
/// concluded: it may have taken the job back to its queue, as on a lost node or by `requeue`.
bool may_be_explained(const ExitRecord& record, const Evidence& evidence, const Entry& entry) {
    if (!evidence.was_asked) {
        return entry.cancel_asked == 0 || evidence.now < record.end + kSettleSeconds;
    }
    const bool is_ending = evidence.seen != nullptr && !is_over(evidence.seen->state);
    const auto patience = is_ending ? std::max(kSettleSeconds, evidence.patience) : kSettleSeconds;
    return evidence.seen != nullptr && evidence.now < record.end + patience;
}

void conclude_by_record(const ExitRecord& record, const Evidence& evidence, Entry& entry) {
    State told = state_of_text(record.state).value_or(State::kFailed);
    // The signal may reach the program before its script, which then records a failure.
    if (told == State::kFailed && entry.cancel_asked != 0 && record.signal == SIGTERM) {
        told = State::kCancelled;
    }
    // The program's own end may come before its script's: then the record says that it failed.
    const bool was_told_to_end =
        told == State::kCancelled || (told == State::kFailed && record.signal == SIGTERM);
    if (was_told_to_end && evidence.seen != nullptr && was_requeued(record, *evidence.seen)) {
        entry.state = evidence.seen->state;
        entry.native = evidence.seen->native;
        entry.missing_since = 0;
        return;
    }
    const JobStatus* why = explanation_of(evidence.accounted);
    if (why == nullptr) {
        why = explanation_of(evidence.seen);
    }
    // Over without a reason, as Slurm's qstat shows it: where this user cancelled it, that is why.
    const bool is_explained =
        why != nullptr ||
        (entry.cancel_asked != 0 && evidence.seen != nullptr && is_over(evidence.seen->state));
    if (was_told_to_end && !is_explained && may_be_explained(record, evidence, entry)) {
        // Without an answer it stays what it was: one that was taken back waits in the queue.
        entry.state = evidence.was_asked ? State::kRunning : entry.state;
        return;
    }
    entry.reason.clear();
    take_record(record, entry);
    entry.native = record.state;
    if (why != nullptr) {
        const std::string own = entry.reason;
        take_words(*why, entry);
        entry.reason = entry.reason.empty() ? own : entry.reason;
    }
    const bool has_other_reason = was_told_to_end && why != nullptr && why->state != State::kDone;
    // A record that names no end is one all the same: who waits must not wait for ever.
    end(entry, has_other_reason ? why->state : told, record.end > 0 ? record.end : evidence.now);
}

/// A job that nothing shows alive, and nothing says how it ended.
void conclude_missing(const Evidence& evidence, Entry& entry) {
    // Unknown twice, a second apart or more: a server that starts again may once say so of all.
    const bool is_gone =
        evidence.is_unknown && entry.missing_since != 0 && evidence.now > entry.missing_since;
    if (is_gone && entry.cancel_asked != 0) {
        const bool was_missing = entry.missing_since < entry.cancel_asked;
        entry.reason = was_missing ? kNoTrace : "";
        end(entry, was_missing ? State::kLost : State::kCancelled, evidence.now);
        return;
    }
    // OpenPBS removes a job whose dependency failed, and where it keeps no history forgets it.
    if (is_gone && entry.follows != 0 && entry.started == 0 && !evidence.has_begun &&
        evidence.now >= entry.missing_since + kSettleSeconds) {
        entry.reason = kNeverBegan;
        end(entry, State::kCancelled, evidence.now);
        return;
    }
    // Not listed, or ended nobody knows how: the record may still come.
    if (entry.missing_since == 0) {
        entry.missing_since = evidence.now;
    }
    if (evidence.now >= entry.missing_since + evidence.patience) {
        entry.reason = evidence.seen != nullptr ? "it ended, and left no record of how" : kNoTrace;
        end(entry, State::kLost, evidence.now);
    }
}

} // namespace

bool needs_inquiry(const Evidence& evidence, const Entry& entry) {
    if (evidence.record || !evidence.was_asked || entry.id.empty()) {
        return false;
    }
    if (evidence.seen == nullptr) {
        return true;
    }
    // A failed job whose code the queue does not show; one that ended nobody knows how.
    return (evidence.seen->state == State::kFailed && !evidence.seen->code &&
            evidence.seen->signal == 0) ||
           evidence.seen->state == State::kLost;
}

void conclude(const Evidence& evidence, Entry& entry) {
    if (entry.ended != 0) {
        return;
    }
    if (evidence.record) {
        conclude_by_record(*evidence.record, evidence, entry);
        return;
    }
    if (!evidence.was_asked) {
        return; // a query that failed is no answer
    }
    if (evidence.accounted != nullptr && is_over(evidence.accounted->state) &&
        take_end(*evidence.accounted, evidence, entry)) {
        return;
    }
    // The accounting sees a job live that the queue does not show.
    const bool lives_on = evidence.accounted != nullptr && !is_over(evidence.accounted->state) &&
                          (evidence.seen == nullptr || is_over(evidence.seen->state));
    if (lives_on) {
        take_words(*evidence.accounted, entry);
        entry.state = evidence.accounted->state;
        entry.missing_since = 0;
        return;
    }
    if (evidence.seen != nullptr && !is_over(evidence.seen->state)) {
        take_words(*evidence.seen, entry);
        entry.state = evidence.seen->state;
        entry.missing_since = 0;
        if (entry.state == State::kRunning && entry.started == 0) {
            entry.started = evidence.now;
        }
        return;
    }
    if (evidence.seen != nullptr && take_end(*evidence.seen, evidence, entry)) {
        return;
    }
    if (entry.cancel_asked != 0 && (evidence.seen != nullptr || evidence.accounted != nullptr)) {
        end(entry, State::kCancelled, evidence.now);
        return;
    }
    conclude_missing(evidence, entry);
}

} // namespace cybele::submission
