// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/view.hpp"

#include <span>
#include <string_view>

namespace cybele::bridge {

/// How the batch system calls an end, and what the object calls it.
struct EndRow {
    submission::State state;
    std::string_view native; ///< the word, where the state has several; empty: all others
    std::string_view reason;
    bool may_be_requeued; ///< the same job may come back to the queue
};

[[nodiscard]] std::span<const EndRow> end_rows();

/// Whether the queue may yet show the job again under the same id: an end of a node, not of the
/// job.
[[nodiscard]] bool may_be_requeued(const SeenJob& job);

/// Whether it says how the job ended: a code, a signal, or a word that needs neither.
[[nodiscard]] bool is_explained(const SeenJob& job);

/// The reason of Complete or Failed. `was_cancelled`: the bridge asked for the end.
[[nodiscard]] std::string_view end_reason(const SeenJob& job, bool was_cancelled);

// Reasons of Failed for which no job is there to be asked.
inline constexpr std::string_view kLeftNoTrace = "LeftNoTrace";
inline constexpr std::string_view kRefusedBySystem = "Refused";
inline constexpr std::string_view kRewound = "Rewound";
inline constexpr std::string_view kSubmissionUnclear = "SubmissionUnclear";

} // namespace cybele::bridge
