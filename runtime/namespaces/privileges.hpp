// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <span>

namespace cybele::namespaces {

/// True if this process may use the capability (a CAP_… number) now.
[[nodiscard]] bool has_capability(int capability);

/// Effective uid 0 with CAP_SYS_ADMIN: can mount without a user namespace of its own.
[[nodiscard]] bool is_privileged_root();

/// no_new_privs, empty bounding, ambient, inheritable, permitted and effective sets. Capabilities
/// that this process does not have are no hindrance. kEnvironment where the kernel refuses. Those
/// of `given` (CAP_… numbers) stay in each set, so that programs that are started have them.
[[nodiscard]] Result<void> drop_all_privileges(std::span<const int> given = {});

/// no_new_privs alone.
[[nodiscard]] Result<void> forbid_new_privileges();

/// Gives up all capabilities but those of `kept` (CAP_… numbers) that this process has, for good:
/// also in the bounding set, so that no program gives them back. kEnvironment where the kernel
/// refuses. With `is_passed_on` they are inheritable and ambient, too.
[[nodiscard]] Result<void> keep_capabilities(std::span<const int> kept, bool is_passed_on = false);

} // namespace cybele::namespaces
