// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>

namespace cybele::namespaces {

/// Why the kernel refused a step of making a user namespace, from the errno and from the switches
/// of /proc/sys that the distributions have; kEnvironment with the remedy.
[[nodiscard]] Error explain_user_namespace(Problem problem, int saved_errno);

} // namespace cybele::namespaces
