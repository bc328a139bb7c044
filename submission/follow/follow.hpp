// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/follow/poll.hpp"
#include "support/signals.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

enum class Stream { kOutput, kErrors };

struct FollowOptions {
    bool cancels_on_signal = false; ///< INT and TERM cancel the jobs; else they end the following
    bool is_cancelling = false;     ///< asks for the end of the jobs at once
    bool has_logs = false;          ///< passes on what the first job writes
    std::chrono::milliseconds longest{30'000}; ///< between two questions
    /// How long the scheduler's word on jobs that are to be cancelled is waited for; then the
    /// following ends, the requests stay.
    std::optional<std::chrono::milliseconds> longest_cancel;
    std::function<void(const Entry&)> on_change;
    std::function<void(Stream, const std::string&)> on_output;
    std::function<void(const std::string&)> on_word; ///< what a person should know
};

struct Followed {
    std::vector<Entry> entries;
    int asked_by = 0; ///< the signal by which the jobs were cancelled; 0: none
    int left_by = 0;  ///< the signal by which the following ended before the jobs; 0: none
};

/// Follows jobs to their ends. INT and TERM: as the options say, a second one leaves; HUP leaves.
[[nodiscard]] Result<Followed> follow(JobContext& context,
                                      std::vector<Entry> entries,
                                      const FollowOptions& options,
                                      const SignalWatch& signals);

/// Waits until it is known what became of a submission that was not acknowledged, or until a
/// signal comes (false).
[[nodiscard]] Result<bool>
await_resolution(JobContext& context, Entry& entry, const SignalWatch& signals);

} // namespace cybele::submission
