// SPDX-License-Identifier: Apache-2.0
#include "bridge/decide/ends.hpp"

#include "support/find.hpp"

#include <array>

namespace cybele::bridge {
namespace {

using submission::State;

constexpr std::array kEnds{
    EndRow{State::kDone, "", "Completed", false},
    EndRow{State::kFailed, "OUT_OF_MEMORY", "OutOfMemory", false},
    EndRow{State::kFailed, "NODE_FAIL", "NodeFail", true},
    EndRow{State::kFailed, "BOOT_FAIL", "BootFail", true},
    EndRow{State::kFailed, "LAUNCH_FAILED", "LaunchFailed", true},
    EndRow{State::kFailed, "DEADLINE", "Deadline", false},
    EndRow{State::kFailed, "", "NonZeroExit", false},
    EndRow{State::kTimeout, "", "TimeLimit", false},
    EndRow{State::kCancelled, "", "CancelledOnCluster", false},
    EndRow{State::kPreempted, "", "Preempted", true},
};

const EndRow* row_of_end(const SeenJob& job) {
    const std::string_view word =
        std::string_view(job.native).substr(0, job.native.find_first_of(" +"));
    return find_row(kEnds, [&](const EndRow& row) {
        return row.state == job.state && (row.native.empty() || row.native == word);
    });
}

} // namespace

std::span<const EndRow> end_rows() {
    return kEnds;
}

bool may_be_requeued(const SeenJob& job) {
    const EndRow* row = row_of_end(job);
    return row != nullptr && row->may_be_requeued;
}

bool is_explained(const SeenJob& job) {
    const EndRow* row = row_of_end(job);
    if (row == nullptr) {
        return false;
    }
    return job.state != State::kFailed || !row->native.empty() || job.code.has_value() ||
           job.signal != 0;
}

std::string_view end_reason(const SeenJob& job, bool was_cancelled) {
    const EndRow* row = row_of_end(job);
    if (row == nullptr) {
        return kLeftNoTrace;
    }
    if (job.state == State::kCancelled && was_cancelled) {
        return "Cancelled";
    }
    if (row->reason == "NonZeroExit" && job.signal != 0) {
        return "Signal";
    }
    return row->reason;
}

} // namespace cybele::bridge
