// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"

#include <functional>
#include <string>

#include <sys/types.h>

namespace cybele::namespaces {

/// Called as process 1 of a container that has a name, when all is entered: returns in a child,
/// which becomes the program. Process 1 goes on as long as the container: it collects what ends,
/// hands signals to all, and ends by a signal when none is left. It is called `name`, unless that
/// is empty.
[[nodiscard]] Result<void> stay_as_first_process(const std::string& name);

/// Runs the sandbox's program in the namespaces of process 1 `pid` of such a container, which this
/// user has made, and ends as it does; returns only on failure, as exec_in_sandbox().
[[nodiscard]] ExecFailure exec_in_instance(const Sandbox& sandbox, pid_t pid);

} // namespace cybele::namespaces
