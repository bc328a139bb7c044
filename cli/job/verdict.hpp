// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "submission/submit/job_input.hpp"
#include "support/error.hpp"

namespace cybele::cli {

/// Prints what the tables say of the Job's launch, as text or as one JSON object. The text of a
/// launch that works is left out where the Job is rejected for another reason.
[[nodiscard]] Result<void>
print_job_verdict(const Session& session, const submission::JobInput& input, bool is_rejected);

} // namespace cybele::cli
