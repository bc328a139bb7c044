// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"

#include <string>
#include <vector>

#include <sys/types.h>

namespace cybele::namespaces {

/// execve() of argv[0], looked up in PATH of `environment` unless it holds a slash; returns with
/// the shell's code and the reason. With `is_named_by_path`, the program gets the full path of the
/// file as its argv[0].
[[nodiscard]] ExecFailure exec_program(const std::vector<std::string>& argv,
                                       const EnvironmentMap& environment,
                                       bool is_named_by_path);

/// Has the kernel begin to read a program that exec_program() will start: a server of its image
/// unpacks it meanwhile. Does nothing for a name without a slash, whose PATH may not be known yet.
void read_ahead(const std::string& program);

/// For process 1 of a pid namespace: waits until `program` has ended, collecting all others that
/// end meanwhile and passing on signals; the shell's code of `program`.
[[nodiscard]] int wait_as_first_process(pid_t program);

} // namespace cybele::namespaces
