// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/scripts/render.hpp"

namespace cybele::schedulers {

/// Whether the script names the image by a path that begins in the folder of submission, while the
/// job runs in another one (`workdir`).
[[nodiscard]] bool is_beside_workdir(const RenderInput& input);

} // namespace cybele::schedulers
