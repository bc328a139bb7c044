// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace cybele {

/// Time since the machine started, time in which it was suspended included (CLOCK_BOOTTIME). No
/// change of the wall clock changes it.
[[nodiscard]] std::chrono::milliseconds boot_time();

} // namespace cybele
