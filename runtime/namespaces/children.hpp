// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstddef>
#include <functional>
#include <string>

#include <sys/types.h>

/// Child processes of the sandbox: they die with their parent, and get its signals.
namespace cybele::namespaces {

/// Asks the kernel to kill this process when its parent `parent` ends; ends at once where that has
/// happened already. The kernel means the parent's *thread* that forked.
void die_with_parent(pid_t parent);

/// Waits for a child, passing on HUP, INT, QUIT, TERM, USR1, USR2 that processes send (what a
/// terminal sends reaches the child by itself). The shell's code, or -1. `ended` is called when
/// the child has ended and still has its number: what sends it signals must stop by then, for
/// afterwards the number may be another process's.
[[nodiscard]] int wait_passing_signals(pid_t child, const std::function<void()>& ended = {});

/// Ends every child that is left (this process must be their subreaper) and waits for it.
void end_remaining_children();

/// What this process is called in lists of processes. `room`: the bytes of its arguments, as
/// arguments_room() gave them while /proc/self was this process.
void name_this_process(const std::string& name, std::size_t room);
[[nodiscard]] std::size_t arguments_room();

/// A pipe, both ends O_CLOEXEC.
struct Pipe {
    UniqueFd read;
    UniqueFd write;
};
[[nodiscard]] Result<Pipe> make_pipe();

} // namespace cybele::namespaces
