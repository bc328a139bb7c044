// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/rendezvous.hpp"
#include "runtime/namespaces/join.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <string>

#include <sys/types.h>

namespace cybele::runtime {

/// A process that is watched until it ends.
class Watched {
public:
    Watched() = default;
    /// This user's process `pid`, which lives now.
    [[nodiscard]] static Watched process(pid_t pid);
    [[nodiscard]] bool is_alive() const;
    /// Readable when it ends; -1 where the kernel has no such descriptors (before 5.3).
    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    [[nodiscard]] pid_t pid() const {
        return pid_;
    }

private:
    pid_t pid_ = 0;
    UniqueFd fd_;
    std::string start_; ///< its start time, which tells it from a later one of the same number
};

/// Starts the process that keeps the container for the ranks still to come: in the namespaces of
/// this process, but no child of the program, with none of its descriptors, in a session of its
/// own. It admits members as long as one lives; when the last has ended it goes: at once where
/// `launcher` has ended too, else after a second without a new one.
[[nodiscard]] Result<void> start_holder(const FirstMember& first_member,
                                        const namespaces::ContainerNamespaces& container,
                                        Watched launcher);

} // namespace cybele::runtime
