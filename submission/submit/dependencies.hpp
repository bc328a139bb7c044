// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/connection.hpp"
#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

namespace cybele::submission {

/// Puts the native id in the place of each name under `after`: that of the job of this name which
/// was submitted last, by this user, to the same batch system and through the same host. A
/// condition that is met already is dropped. A name that no job has, and a condition
/// that can never be met, are faults at their place. Reads the journal only where a name is
/// there.
[[nodiscard]] Result<void>
resolve_dependencies(JobInput& input, const Environment& environment, const Connection& connection);

/// The same, of a Job that goes where its Site says.
[[nodiscard]] Result<void> resolve_dependencies(JobInput& input, const Environment& environment);

} // namespace cybele::submission
