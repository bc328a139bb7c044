// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// The place of the image that `build` makes, in the order and the words of Apptainer.
[[nodiscard]] Result<void> check_build_target(const OtherCall& call);

} // namespace cybele::cli
