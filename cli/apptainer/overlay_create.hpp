// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// `overlay create FILE`: an ext3 file system with the folders of an overlay, in a new file or as a
/// partition of a SIF, by the host's mkfs.ext3; gives the exit code.
[[nodiscard]] Result<int> create_overlay(const Session& session, const OtherCall& call);

} // namespace cybele::cli
