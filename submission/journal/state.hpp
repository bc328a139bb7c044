// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cybele::submission {

/// Where a job is in its life, in one language for all schedulers (docs/reference/submit.md).
enum class State {
    kSubmitting, ///< asked for; the scheduler has not said its id yet
    kPending,
    kHeld,
    kStarting,
    kRunning,
    kSuspended,
    kDone,
    kFailed,
    kTimeout,
    kCancelled,
    kPreempted,
    kLost,         ///< no source knows how it ended
    kNotSubmitted, ///< refused, or the client ended before it asked
};

[[nodiscard]] std::string_view state_text(State state);
[[nodiscard]] std::optional<State> state_of_text(std::string_view text);
/// Whether nothing follows it.
[[nodiscard]] bool is_over(State state);

/// Slurm's word, long or short, with what may stand behind it (`CANCELLED by 1000`). A word that is
/// not known is a job that lives: unset.
[[nodiscard]] std::optional<State> state_of_slurm(std::string_view word);

/// How PBS says that a job ended: TORQUE's exit_status, OpenPBS's Exit_status.
struct PbsEnd {
    State state = State::kDone;
    std::optional<int> code;
    int signal = 0;
};

/// `letter` of qstat; unset for C, F and X, whose meaning is in the exit status, and for letters
/// that are not known.
[[nodiscard]] std::optional<State> state_of_pbs(char letter);
/// An exit status of TORQUE or OpenPBS; unset: the job never started (facts measured on both).
[[nodiscard]] PbsEnd end_of_pbs(std::optional<int> status);

} // namespace cybele::submission
