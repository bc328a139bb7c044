// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

#include <string>

namespace cybele::cli {

/// What --arch and --arch-variant of `build` and `pull` name, in the words of registries; empty:
/// this machine's. kInput: an architecture or a variant that is not known.
[[nodiscard]] Result<std::string> read_architecture(const OtherCall& call);

} // namespace cybele::cli
