// SPDX-License-Identifier: Apache-2.0
#include "cli/common/date_text.hpp"

#include <array>
#include <ctime>

#include <fmt/format.h>

namespace cybele::cli {

std::string date_text(std::int64_t seconds) {
    if (seconds == 0) {
        return "-";
    }
    const std::time_t time = seconds;
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                       parts.tm_year + 1900,
                       parts.tm_mon + 1,
                       parts.tm_mday,
                       parts.tm_hour,
                       parts.tm_min,
                       parts.tm_sec);
}

std::string readable_time(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    std::array<char, 64> text{};
    if (::gmtime_r(&time, &parts) == nullptr ||
        std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S +0000 UTC", &parts) == 0) {
        return fmt::format("{} s", seconds); // a year that no calendar has
    }
    return text.data();
}

} // namespace cybele::cli
