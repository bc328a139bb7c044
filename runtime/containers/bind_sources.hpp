// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <vector>

namespace cybele::runtime {

/// Opens the sources of binds, in the new mount namespace and before the stage covers anything:
/// each mount gets the descriptor of its source. Optional mounts whose source is missing are left
/// out.
[[nodiscard]] Result<std::vector<UniqueFd>> open_sources(std::vector<namespaces::Mount>& mounts);

} // namespace cybele::runtime
