// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/stage.hpp"

namespace cybele::runtime {

/// A directory on the stage into which the image's entries are bound one by one, and the missing
/// targets made; works with Linux 4.18 for everybody. Links are copied.
[[nodiscard]] Result<UniqueFd>
make_underlay(const Stage& stage, int image, const std::vector<NeededTarget>& targets);

} // namespace cybele::runtime
