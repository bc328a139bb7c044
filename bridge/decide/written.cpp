// SPDX-License-Identifier: Apache-2.0
#include "bridge/decide/written.hpp"

#include "bridge/decide/ends.hpp"
#include "bridge/objects/refusals.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

/// A condition without its time.
struct Mark {
    std::string_view type;
    std::string_view holds;
    std::string_view reason;
    std::string message = {};
};

void put(Status& status, const Case& one, Mark mark) {
    status.set({std::string(mark.type),
                std::string(mark.holds),
                std::string(mark.reason),
                std::move(mark.message),
                one.world.now});
}

/// The status as it is, for the spec as it is.
Status begun(const Case& one) {
    Status status = one.object.status;
    status.generation = one.object.generation;
    if (status.holds("Suspended") && !one.object.job.is_suspended) {
        put(status, one, {"Suspended", "False", "JobResumed"});
    }
    return status;
}

std::string_view phase_of(submission::State state) {
    const bool is_running =
        state == submission::State::kRunning || state == submission::State::kSuspended;
    return is_running ? "Running" : "Pending";
}

void put_end(Status& status, const Case& one, bool is_good, std::string_view reason) {
    status.phase = is_good ? "Succeeded" : "Failed";
    if (status.find("Running") != nullptr) {
        put(status, one, {"Running", "False", "Ended"});
    }
    put(status, one, {is_good ? "Complete" : "Failed", "True", reason});
}

} // namespace

Status refused_status(const Case& one, const Refusal& refusal) {
    const RefusalRow* row = find_refusal(refusal.reason);
    Status status = begun(one);
    status.phase = "Pending";
    status.reason = refusal.reason;
    const std::string help = row == nullptr ? "" : fmt::format("; {}", row->help);
    put(status, one, {"Accepted", "False", refusal.reason, refusal.message + help});
    if (row != nullptr && row->is_final) {
        status.phase = "Failed";
        put(status, one, {"Failed", "True", refusal.reason, refusal.message});
    }
    return status;
}

Status too_old_status(const Case& one) {
    Status status = begun(one);
    status.phase = "Pending";
    status.reason = kTooOldToBeSure;
    put(status,
        one,
        {"Accepted",
         "Unknown",
         kTooOldToBeSure,
         fmt::format("the object is older than the records of jobs; {}",
                     find_refusal(kTooOldToBeSure)->help)});
    return status;
}

Status suspended_status(const Case& one) {
    Status status = begun(one);
    status.phase = "Pending";
    put(status,
        one,
        {"Suspended", "True", "JobSuspended", "the batch job waits for it to be resumed"});
    return status;
}

Status prepared_status(const Case& one, const std::string& id) {
    Status status = begun(one);
    status.phase = "Pending";
    status.job_id = id;
    status.token = one.object.uid;
    status.account = one.view.account;
    status.site = one.world.site;
    status.state = "Prepared";
    status.reason.clear();
    status.attempt = std::max(one.view.record.claims, 1);
    put(status, one, {"Accepted", "True", "Admitted"});
    put(status, one, {"Submitted", "True", "Prepared"});
    return status;
}

Status followed_status(const Case& one, const SeenJob& job) {
    Status status = begun(one);
    const bool is_held = job.state == submission::State::kHeld;
    const bool is_uncommitted = status.state == "Prepared" && is_held;
    const bool is_running = phase_of(job.state) == "Running";
    const int restarts = std::max(status.restarts, job.restarts);
    const bool was_requeued = restarts != status.restarts;
    status.phase = phase_of(job.state);
    status.reason = job.reason;
    status.restarts = restarts;
    if (!is_uncommitted) {
        status.state = is_held ? "Held" : job.native;
        put(status, one, {"Submitted", "True", "Queued"});
    }
    if (was_requeued) {
        put(status, one, {"Running", "False", "Requeued"});
        status.started = 0;
    }
    if (one.object.job.is_suspended) {
        put(status,
            one,
            {"Suspended",
             "False",
             "NotSupported",
             "a batch job that was handed over is not suspended; delete the Job to cancel it"});
    }
    if (is_running) {
        status.started = job.started;
        put(status, one, {"Running", "True", "Started"});
    } else if (status.holds("Running")) {
        put(status, one, {"Running", "False", "Waiting"});
    }
    return status;
}

Status ended_status(const Case& one, const SeenJob& job) {
    Status status = begun(one);
    const bool was_cancelled = one.object.deleted != 0 || one.memory.cancel_asked != 0;
    const std::string_view reason = end_reason(job, was_cancelled);
    status.state = job.native;
    status.reason = job.reason.empty() ? std::string(reason) : job.reason;
    status.exit_code = job.code;
    status.signal = job.signal;
    status.restarts = std::max(status.restarts, job.restarts);
    status.started = job.started == 0 ? status.started : job.started;
    status.ended = job.ended == 0 ? one.world.now : job.ended;
    put(status, one, {"Submitted", "True", "Queued"});
    put_end(status, one, job.state == submission::State::kDone, reason);
    return status;
}

Status given_up_status(const Case& one, std::string_view reason, std::string_view message) {
    Status status = begun(one);
    put_end(status, one, false, reason);
    put(status, one, {"Failed", "True", reason, std::string(message)});
    status.phase = reason == kLeftNoTrace ? "Unknown" : "Failed";
    status.reason = reason;
    status.ended = one.world.now;
    return status;
}

Status cancelling_status(const Case& one,
                         std::string_view holds,
                         std::string_view reason,
                         const std::string& message) {
    Status status = begun(one);
    put(status, one, {"Cancelling", holds, reason, message});
    return status;
}

Status hindered_status(const Case& one) {
    Status status = begun(one);
    status.phase = "Pending";
    status.reason = one.view.account_failure.reason;
    if (status.job_id.empty()) {
        put(status, one, {"Submitted", "False", status.reason, one.view.account_failure.message});
    }
    return status;
}

} // namespace cybele::bridge
