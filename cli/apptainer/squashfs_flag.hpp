// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"
#include "support/error.hpp"

#include <string>

namespace cybele::cli {

/// The compression that --mksquashfs-args of a build asks for; empty: none. kEnvironment for what
/// changes the file system in another way. Like there, a sandbox needs none of it.
[[nodiscard]] Result<std::string> read_squashfs_arguments(const OtherCall& call);

} // namespace cybele::cli
