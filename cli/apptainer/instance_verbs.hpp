// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"
#include "cli/run/start_options.hpp"

namespace cybele::cli {

/// `instance list|stop|stats`; gives the exit code.
[[nodiscard]] Result<int> instance_verb(const Session& session, const OtherCall& call);

/// A start in an instance (`exec instance://NAME`), or of one (`instance start|run`).
[[nodiscard]] Result<int> start_with_instance(const Session& session, const StartOptions& options);

} // namespace cybele::cli
