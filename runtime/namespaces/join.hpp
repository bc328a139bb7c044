// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <string>

#include <sys/types.h>

/// Entering a container that runs already, by descriptors of its namespaces.
namespace cybele::namespaces {

/// What a process needs to become a member of a container.
struct ContainerNamespaces {
    UniqueFd mount;
    UniqueFd user; ///< of its programs; invalid where they are in the caller's own (root)
};

/// The kernel's name of this process's namespace of a kind ("user", "mnt", "pid"), such as
/// "user:[4026531837]"; empty without /proc. A quarter of the time that stat() of it takes, which
/// makes an inode.
[[nodiscard]] std::string own_namespace(const char* kind);

/// Those of this process; `proc` is a descriptor of the host's /proc. `has_user`: it has entered a
/// user namespace of the container.
[[nodiscard]] Result<ContainerNamespaces> own_namespaces(int proc, bool has_user);

/// Puts this process into them. Refused (kEnvironment) unless the user namespace that the mounts
/// belong to was made by this user, and the programs' lies directly below it: what another user's
/// process, or one in a container, hands over is not entered.
[[nodiscard]] Result<void> enter_container(const ContainerNamespaces& container);

/// In place of exec_in_sandbox() for a member: enters, then all that comes after the mounts.
[[nodiscard]] ExecFailure exec_in_container(Sandbox sandbox, const ContainerNamespaces& container);

} // namespace cybele::namespaces
