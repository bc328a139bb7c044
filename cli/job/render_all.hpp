// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "cli/job/input.hpp"
#include "support/error.hpp"

namespace cybele::cli {

/// `job render --all-schedulers`: a script NAME.SCHEDULER.sh for each scheduler that can express
/// the Job, below the folder of --output; the reasons of those that cannot, and then 3.
[[nodiscard]] Result<int> render_for_all(Session& session, const JobOptions& options);

} // namespace cybele::cli
