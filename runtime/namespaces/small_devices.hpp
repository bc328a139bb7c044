// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"

#include <vector>

/// A /dev of the container's own, in memory: the devices that every program may use, and no more.
namespace cybele::namespaces {

/// kUnreachable: /dev/tty exists, but cannot be opened, since the program has left the session.
enum class Terminal { kShared, kUnreachable, kNone };

/// The mounts. The host's device nodes are bound read-only: they can be read and written, but their
/// owner, mode and times, which are the host's, cannot be changed.
void add_small_devices(std::vector<Mount>& mounts, Terminal terminal);

/// The links that programs expect in it; called in the new root.
void link_small_devices();

} // namespace cybele::namespaces
