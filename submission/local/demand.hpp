// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "submission/local/plan.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

namespace cybele::submission {

/// What a Job asks of this machine: a core for each CPU of its tasks, its memory, its GPUs.
[[nodiscard]] Demand demand_of(const launchers::Job& job);

/// Refuses, at their places, what this machine never has and the ids under `after` that the local
/// scheduler never gave out (kInput). All at once.
[[nodiscard]] Result<void> check_local(const launchers::Job& job, const Environment& environment);

} // namespace cybele::submission
