// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/times.hpp"

#include "support/characters.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

constexpr std::string_view kShape = "0000-00-00T00:00:00";

unsigned number_at(std::string_view text, std::size_t at, std::size_t digits) {
    unsigned value = 0;
    std::from_chars(text.data() + at, text.data() + at + digits, value);
    return value;
}

bool has_shape(std::string_view text) {
    if (text.size() < kShape.size() + 1 || text.back() != 'Z') {
        return false;
    }
    for (std::size_t at = 0; at < kShape.size(); ++at) {
        if (kShape[at] == '0' ? !is_digit(text[at]) : text[at] != kShape[at]) {
            return false;
        }
    }
    const std::string_view rest = text.substr(kShape.size(), text.size() - kShape.size() - 1);
    return rest.empty() || (rest.front() == '.' && rest.size() > 1 &&
                            rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

} // namespace

std::string time_text(std::int64_t seconds) {
    using namespace std::chrono;
    // What a clock never shows would be a year that the server does not take.
    constexpr std::int64_t kYear9999 = 253402300799;
    const sys_seconds at{std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kYear9999))};
    const sys_days day = floor<days>(at);
    const year_month_day date(day);
    const hh_mm_ss<std::chrono::seconds> time(at - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                       static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()),
                       time.hours().count(),
                       time.minutes().count(),
                       time.seconds().count());
}

std::optional<std::int64_t> read_time(std::string_view text) {
    using namespace std::chrono;
    if (!has_shape(text)) {
        return std::nullopt;
    }
    const year_month_day date(year(static_cast<int>(number_at(text, 0, 4))),
                              month(number_at(text, 5, 2)),
                              day(number_at(text, 8, 2)));
    const unsigned hour = number_at(text, 11, 2);
    const unsigned minute = number_at(text, 14, 2);
    const unsigned second = number_at(text, 17, 2);
    if (!date.ok() || hour > 23 || minute > 59 || second > 60) {
        return std::nullopt;
    }
    const auto time = sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
    return duration_cast<seconds>(time.time_since_epoch()).count();
}

} // namespace cybele::bridge
