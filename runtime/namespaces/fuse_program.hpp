// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <string>
#include <vector>

namespace cybele::namespaces {

/// A file system that a program of the host serves by FUSE.
struct FuseProgram {
    std::vector<std::string> argv; ///< argv[0] is its path; the mount point comes last
    std::vector<int> kept;         ///< descriptors that it holds until it ends, under their numbers
};

/// Starts the program and mounts what it serves over `name` in `folder` (O_PATH), which must be an
/// empty directory; the working directory moves to `folder`. The program runs in a copy of this
/// mount namespace, from which its mount is taken away: it ends when the last process of this
/// namespace has ended. It is no child of this process. Gives a descriptor (O_PATH) of the root.
[[nodiscard]] Result<UniqueFd>
mount_by_program(const FuseProgram& program, int folder, const char* name);

} // namespace cybele::namespaces
