// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "submission/submit/job_input.hpp"
#include "support/error.hpp"

namespace cybele::cli {

/// Prints what the tables say of the Job's launch, as text or as one JSON object.
[[nodiscard]] Result<void> print_job_verdict(const Session& session,
                                             const submission::JobInput& input);

} // namespace cybele::cli
