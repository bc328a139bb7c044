// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"
#include "runtime/namespaces/small_devices.hpp"

/// What encloses a step of a build, whoever builds: what it does ends in its tree.
namespace cybele::namespaces {

/// Gives the sandbox, whose argv is set, the mounts of a build step (a small /dev of its own, a
/// /proc whose settings cannot be changed, a read-only /sys) and encloses its program:
/// * user, mount, IPC and UTS namespaces of its own, in which every id of the caller is itself, so
///   that owners in the tree stay as they are, and in which no mount can be undone; where the
///   kernel has no user namespace left, a few capabilities instead;
/// * a filter that refuses the calls of refused_in_steps();
/// * no terminal, no keyring of the caller's session, and no abstract socket of another process
///   (where the kernel has Landlock with scopes, Linux 6.12). A shell that a person opens has its
///   terminal and its input.
void enclose_build_step(Sandbox& sandbox, Terminal terminal = Terminal::kNone);

} // namespace cybele::namespaces
