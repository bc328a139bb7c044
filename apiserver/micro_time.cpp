// SPDX-License-Identifier: Apache-2.0
#include "apiserver/micro_time.hpp"

#include <chrono>

#include <fmt/format.h>

namespace cybele::apiserver {

std::string micro_time(std::int64_t nanoseconds) {
    using std::chrono::floor;
    const auto time = floor<std::chrono::microseconds>(std::chrono::nanoseconds(nanoseconds));
    const auto day = floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{std::chrono::sys_days(day)};
    const std::chrono::hh_mm_ss clock(time - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
                       static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()),
                       clock.hours().count(),
                       clock.minutes().count(),
                       clock.seconds().count(),
                       clock.subseconds().count());
}

} // namespace cybele::apiserver
