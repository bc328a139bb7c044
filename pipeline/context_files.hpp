// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/image_plan.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <string>
#include <vector>

namespace cybele::pipeline {

/// Looks at the host's files that a plan takes into its image, before anything is built. Gives
/// lines for the user: how many files and bytes they are, what is left out, and of a definition
/// what a Recipe would leave out or refuse. A Recipe that takes private keys, tokens or settings
/// with secrets that its `allow` does not name, or of which nothing is left, is refused (kInput),
/// with the line that would allow them.
[[nodiscard]] Result<std::vector<std::string>>
look_at_context(const ImagePlan& plan, const std::string& builder, const Environment& environment);

} // namespace cybele::pipeline
