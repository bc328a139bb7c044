// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <sys/types.h>

namespace cybele {

/// When a process began, in the kernel's ticks since the boot, as text: with its number it names a
/// process, for numbers come again (proc(5): field 22 of /proc/PID/stat). Empty where there is no
/// such process, or one that has ended and was not waited for.
[[nodiscard]] std::string start_time(pid_t pid);

} // namespace cybele
