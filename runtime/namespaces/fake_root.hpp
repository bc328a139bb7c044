// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

/// For builds in a user namespace of one id: package managers change owners to ids that are not
/// mapped there, and give up when the kernel says so.
namespace cybele::namespaces {

/// From now on, for this process and all it starts: changing the owner of a file, or one's own ids
/// and groups, does nothing and says that it worked; so does making a device (a whiteout, 0:0, is
/// made). Programs of another architecture than this one's are not deceived. kEnvironment where the
/// kernel has no filters of system calls. The caller is root in its user namespace.
[[nodiscard]] Result<void> fake_ownership();

} // namespace cybele::namespaces
