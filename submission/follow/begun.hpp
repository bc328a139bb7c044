// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/host.hpp"
#include "submission/journal/entry.hpp"

#include <chrono>

namespace cybele::submission {

/// How long a job that runs is waited for to say so: one that cannot write its record never does.
constexpr std::chrono::seconds kSilentBegin{5};

/// What shows that a job has begun: `started/id` in its record, which comes after the scheduler has
/// emptied the job's logs. Before, another job's of the same name may lie there.
[[nodiscard]] Reading mark_of_begin(const Entry& entry);

/// Whether what lies under the names of its logs is the job's own; a pure function. `is_marked`:
/// the mark is there. A job that runs without it, for `running` so far, is believed after a while.
[[nodiscard]] bool
has_begun(const Entry& entry, bool is_marked, std::chrono::steady_clock::duration running);

/// How long the output of a script that has ended is waited for.
constexpr std::int64_t kDeliverySeconds = 10;

/// Whether the output of a script that ended at `ended` is still to come: where neither the script
/// nor its Job names one, TORQUE and OpenPBS bring `NAME.oID` themselves, a moment after the end.
/// Of a job of this machine alone: through a login nobody looks.
[[nodiscard]] bool is_output_to_come(const Entry& entry, std::int64_t ended, std::int64_t now);

} // namespace cybele::submission
