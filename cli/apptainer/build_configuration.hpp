// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// `buildcfg [NAME]`: where this installation has what Apptainer's build settings name, a line
/// `NAME=VALUE` each, or the value of one; gives the exit code.
[[nodiscard]] Result<int> show_build_configuration(const Session& session, const OtherCall& call);

} // namespace cybele::cli
