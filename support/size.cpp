// SPDX-License-Identifier: Apache-2.0
#include "support/size.hpp"

#include "support/characters.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace cybele {
namespace {

constexpr std::string_view kUnitLetters = "KMGTP";

/// Index of the unit in kUnitLetters, or npos. `text` is "GiB" or "G".
std::size_t unit_of(std::string_view text) {
    if (text.size() != 1 && !(text.size() == 3 && text.substr(1) == "iB")) {
        return std::string_view::npos;
    }
    return kUnitLetters.find(text.front());
}

std::size_t digits_of(std::string_view text) {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count])) {
        ++count;
    }
    return count;
}

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    return text;
}

} // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
    const std::size_t digits = digits_of(text);
    if (digits == 0 || digits > 18) {
        return std::nullopt;
    }
    const std::size_t unit = unit_of(without_blanks(text.substr(digits)));
    if (unit == std::string_view::npos) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char c : text.substr(0, digits)) {
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    const std::uint64_t factor = std::uint64_t{1} << (10 * (unit + 1));
    if (value > std::numeric_limits<std::int64_t>::max() / factor) {
        return std::nullopt;
    }
    return value * factor;
}

std::string format_size(std::uint64_t bytes) {
    for (std::size_t unit = kUnitLetters.size(); unit > 0; --unit) {
        const std::uint64_t factor = std::uint64_t{1} << (10 * unit);
        if (bytes >= factor && bytes % factor == 0) {
            return std::to_string(bytes / factor) + " " + kUnitLetters[unit - 1] + "iB";
        }
    }
    return std::to_string(bytes) + " B";
}

std::string suggest_size(std::string_view text) {
    const std::size_t digits = digits_of(text);
    if (digits == 0 || digits > 9) {
        return {};
    }
    const std::string number(text.substr(0, digits));
    std::string_view rest = text.substr(digits);
    std::string_view fraction;
    if (!rest.empty() && rest.front() == '.') {
        fraction = rest.substr(1, digits_of(rest.substr(1)));
        rest.remove_prefix(1 + fraction.size());
    } else if (number.find_first_not_of('0') == std::string::npos) {
        return {}; // nothing fits into none
    }
    rest = without_blanks(rest);
    constexpr std::string_view kLower = "kmgtp";
    if (rest.empty()) {
        return {};
    }
    const std::size_t unit = std::min(kUnitLetters.find(rest.front()), kLower.find(rest.front()));
    if (unit == std::string_view::npos) {
        return {};
    }
    if (fraction.empty() || fraction.size() > 3 || unit == 0) {
        return number + " " + kUnitLetters[unit] + "iB";
    }
    std::uint64_t thousandths = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        thousandths = thousandths * 10 +
                      (i < fraction.size() ? static_cast<std::uint64_t>(fraction[i] - '0') : 0);
    }
    const std::uint64_t smaller = std::stoull(number) * 1024 + (thousandths * 1024 + 999) / 1000;
    return std::to_string(smaller) + " " + kUnitLetters[unit - 1] + "iB";
}

std::string help_for_size(std::string_view text) {
    if (const std::string meant = suggest_size(text); !meant.empty()) {
        return "write `" + meant + "`";
    }
    const bool is_number = !text.empty() && text.size() <= 9 && digits_of(text) == text.size();
    if (is_number && text.front() != '0') {
        const std::string number(text);
        return "add the unit: `" + number + " MiB` or `" + number + " GiB`";
    }
    return "write an integer and its unit, for example `512 MiB` or `4 GiB`";
}

} // namespace cybele
