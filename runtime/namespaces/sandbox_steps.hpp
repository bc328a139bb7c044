// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"

#include <functional>

namespace cybele::namespaces {

/// All that follows the mounts: before_exec, the directory, `entered` (unset: nothing), umask,
/// privileges, the program. Returns only on failure.
[[nodiscard]] ExecFailure start_inside(Sandbox sandbox,
                                       const std::function<Result<void>()>& entered);

} // namespace cybele::namespaces
