// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <span>

namespace cybele::namespaces {

/// A system call that no build step may make: changes of mounts, namespaces, keyrings, the kernel's
/// modules, clock, swap, quotas and performance counters.
struct RefusedCall {
    const char* name;
    std::uint32_t number;
    std::uint32_t i386; ///< its number for 32-bit programs of x86_64
};
[[nodiscard]] std::span<const RefusedCall> refused_in_steps();

/// From now on, for this process and all it starts, these calls fail with EPERM, and so does
/// clone() where it asks for a namespace; clone3(), whose arguments no filter sees, is answered by
/// ENOSYS, after which C libraries use clone(). For 32-bit programs too. kEnvironment where the
/// kernel has no filters; the caller is root in its user namespace.
[[nodiscard]] Result<void> filter_build_step();

} // namespace cybele::namespaces
