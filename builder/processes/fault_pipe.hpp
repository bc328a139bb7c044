// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <functional>

/// How a process that builds tells its end to the one that waits for it.
namespace cybele::builder {

/// The work of a child. An exception is a fault of it: beyond the child's code is the parent's,
/// which would wait in the child for threads that only the parent has.
[[nodiscard]] Result<void> guarded(const std::function<Result<void>()>& work);

/// Of a child that ended with this code (as a shell counts): the fault that it sent
/// (support/error_pipe.hpp), a fault of its own where it ended without one, or nothing.
[[nodiscard]] Result<void> end_of_child(int fd, int code);

} // namespace cybele::builder
