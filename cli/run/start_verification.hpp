// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run/start_options.hpp"

namespace cybele::cli {

/// Puts what --verify-key, --policy and --require ask for into the request; files are read when an
/// image is mounted. kUsage: a number of signers without any; kInput: a file that cannot be read.
/// Linked into the main program only.
[[nodiscard]] Result<void> demand_signatures(const Session& session, StartOptions& options);

} // namespace cybele::cli
