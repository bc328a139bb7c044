// SPDX-License-Identifier: Apache-2.0
#include "support/boot_time.hpp"

#include <ctime>

namespace cybele {

std::chrono::milliseconds boot_time() {
    timespec now{};
    (void)::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::duration_cast<std::chrono::milliseconds>(
                                                  std::chrono::nanoseconds(now.tv_nsec));
}

} // namespace cybele
