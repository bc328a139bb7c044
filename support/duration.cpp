// SPDX-License-Identifier: Apache-2.0
#include "support/duration.hpp"

#include "support/characters.hpp"
#include "support/text.hpp"

#include <array>
#include <cstdint>
#include <utility>

namespace cybele {
namespace {

constexpr std::int64_t kMostSeconds = 1'000'000'000;

struct Unit {
    std::string_view name;
    std::int64_t seconds;
};
// Longest first; two names of one unit stand together, the one that is printed first.
constexpr std::array<Unit, 5> kUnits{{{"d", 86400}, {"h", 3600}, {"min", 60}, {"m", 60}, {"s", 1}}};

/// Digits from the front of `text`, which moves on; at most nine of them.
std::optional<std::int64_t> take_number(std::string_view& text) {
    std::size_t length = 0;
    std::int64_t value = 0;
    while (length < text.size() && is_digit(text[length])) {
        value = value * 10 + (text[length] - '0');
        if (++length > 9) {
            return std::nullopt;
        }
    }
    if (length == 0) {
        return std::nullopt;
    }
    text.remove_prefix(length);
    return value;
}

void skip_blanks(std::string_view& text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
}

/// Two digits below `limit`, after a colon.
std::optional<std::int64_t> take_two(std::string_view& text, std::int64_t limit) {
    if (text.size() < 3 || text[0] != ':' || !is_digit(text[1]) || !is_digit(text[2])) {
        return std::nullopt;
    }
    const std::int64_t value = (text[1] - '0') * 10 + (text[2] - '0');
    text.remove_prefix(3);
    return value < limit ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_clock(std::string_view text) {
    std::int64_t days = 0;
    if (const auto dash = text.find('-'); dash != std::string_view::npos) {
        const auto count = take_number(text);
        if (!count || text.empty() || text.front() != '-') {
            return std::nullopt;
        }
        text.remove_prefix(1);
        days = *count;
        if (text.size() != 8) {
            return std::nullopt;
        }
    }
    const auto hours = take_number(text);
    if (!hours || (days != 0 && *hours > 23)) {
        return std::nullopt;
    }
    const auto minutes = take_two(text, 60);
    const auto seconds = minutes ? take_two(text, 60) : std::nullopt;
    if (!minutes || !seconds || !text.empty()) {
        return std::nullopt;
    }
    return days * 86400 + *hours * 3600 + *minutes * 60 + *seconds;
}

std::optional<std::int64_t> parse_units(std::string_view text) {
    std::int64_t total = 0;
    std::int64_t last = INT64_MAX;
    while (!text.empty()) {
        const auto number = take_number(text);
        if (!number) {
            return std::nullopt;
        }
        skip_blanks(text);
        std::size_t letters = 0;
        while (letters < text.size() && text[letters] >= 'a' && text[letters] <= 'z') {
            ++letters;
        }
        const Unit* found = nullptr;
        for (const auto& unit : kUnits) {
            if (unit.name == text.substr(0, letters)) {
                found = &unit;
            }
        }
        if (found == nullptr || found->seconds >= last) {
            return std::nullopt;
        }
        last = found->seconds;
        total += *number * found->seconds;
        text.remove_prefix(letters);
        if (!text.empty()) {
            skip_blanks(text);
            if (text.empty()) {
                return std::nullopt;
            }
        }
    }
    return total;
}

} // namespace

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
    if (text.empty()) {
        return std::nullopt;
    }
    const auto seconds =
        text.find(':') != std::string_view::npos ? parse_clock(text) : parse_units(text);
    if (!seconds || *seconds > kMostSeconds) {
        return std::nullopt;
    }
    return std::chrono::seconds(*seconds);
}

std::string format_duration(std::chrono::seconds duration) {
    std::int64_t rest = duration.count();
    if (rest <= 0) {
        return "0 s";
    }
    std::string text;
    for (const auto& unit : kUnits) {
        const std::int64_t count = rest / unit.seconds;
        if (count > 0) {
            text +=
                (text.empty() ? "" : " ") + std::to_string(count) + " " + std::string(unit.name);
            rest -= count * unit.seconds;
        }
    }
    return text;
}

namespace {

/// Seconds of a unit by another name, "minutes", "Hours", "day", "sec"; 0: it is none.
std::int64_t seconds_of(std::string_view rest) {
    constexpr std::pair<std::string_view, std::int64_t> kNames[] = {
        {"sec", 1},
        {"min", 60},
        {"h", 3600},
        {"d", 86400},
        {"w", 604800},
        {"mo", 0}, // months and milliseconds: not known here
        {"ms", 0},
        {"mil", 0},
        {"m", 60},
        {"s", 1}};
    skip_blanks(rest);
    const std::string lower = text::lowered(rest);
    if (lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos) {
        return 0;
    }
    for (const auto& [name, seconds] : kNames) {
        if (lower.starts_with(name)) {
            return seconds;
        }
    }
    return 0;
}

/// "40 minutes", "90sec", "1.5 h": empty where the unit is missing or unknown.
std::string suggest_unit(std::int64_t number, std::string_view rest) {
    std::int64_t tenths = 0;
    if (rest.size() > 1 && rest[0] == '.' && is_digit(rest[1])) {
        tenths = rest[1] - '0';
        rest.remove_prefix(2);
    }
    const std::int64_t unit = seconds_of(rest);
    const std::int64_t total = (number * 10 + tenths) * unit;
    if (total == 0 || total % 10 != 0 || total / 10 > kMostSeconds) {
        return {};
    }
    for (const Unit& known : kUnits) { // as it was written: 90 s, 40 min
        if (tenths == 0 && known.seconds == unit) {
            return std::to_string(number) + " " + std::string(known.name);
        }
    }
    return format_duration(std::chrono::seconds(total / 10));
}

/// What a clock with too large or too few parts means: `1-0` and `1-12:30` begin with days,
/// `00:00:90` has 90 seconds; empty: it is none.
std::string suggest_clock(std::string_view text) {
    std::int64_t days = 0;
    const bool has_days = text.find('-') != std::string_view::npos;
    if (has_days) {
        const auto count = take_number(text);
        if (!count || !text.starts_with('-')) {
            return {};
        }
        text.remove_prefix(1);
        days = *count;
    }
    constexpr std::array<std::int64_t, 3> kParts{3600, 60, 1};
    std::int64_t total = days * 86400;
    std::size_t parts = 0;
    while (parts < kParts.size()) {
        const auto value = take_number(text);
        if (!value) {
            return {};
        }
        total += *value * kParts.at(parts++);
        if (!text.starts_with(':')) {
            break;
        }
        text.remove_prefix(1);
    }
    const bool is_clock = text.empty() && (has_days || parts == kParts.size());
    return is_clock && total > 0 && total <= kMostSeconds
               ? format_duration(std::chrono::seconds(total))
               : std::string();
}

} // namespace

std::string suggest_duration(std::string_view text) {
    if (std::string clock = suggest_clock(text); !clock.empty()) {
        return clock;
    }
    const auto number = take_number(text);
    return number && !text.empty() ? suggest_unit(*number, text) : std::string();
}

std::string help_for_duration(std::string_view text) {
    if (const std::string meant = suggest_duration(text); !meant.empty()) {
        return "write `" + meant + "`";
    }
    std::string_view rest = text;
    const auto number = take_number(rest);
    if (number && rest.empty() && *number > 0) {
        const std::string digits = std::to_string(*number);
        return "add the unit: `" + digits + " s`, `" + digits + " min` or `" + digits + " h`";
    }
    const auto two = number && rest.size() == 3 ? take_two(rest, 60) : std::nullopt;
    if (two && number && *number < 60 && *number + *two > 0) {
        const std::string hours = format_duration(std::chrono::seconds(*number * 3600 + *two * 60));
        const std::string minutes = format_duration(std::chrono::seconds(*number * 60 + *two));
        return "write which is meant: `" + hours + "` or `" + minutes + "`";
    }
    return "write a number and its unit, for example `30 min`, `12 h` or `2 d`";
}

} // namespace cybele
