// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/asked.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>

namespace cybele::schedulers {
namespace {

constexpr std::uint64_t kMostOfTime = 1'000'000;

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

/// `1:30:00` as numbers; nothing where one is none.
std::optional<std::vector<std::uint64_t>> clock_parts(std::string_view text) {
    std::vector<std::uint64_t> parts;
    while (true) {
        const auto colon = text.find(':');
        const auto value = number(text.substr(0, colon));
        if (!value || *value >= kMostOfTime) {
            return std::nullopt;
        }
        parts.push_back(*value);
        if (colon == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(colon + 1);
    }
}

std::chrono::seconds seconds(std::uint64_t value) {
    return std::chrono::seconds(static_cast<std::int64_t>(value));
}

/// A number and the power of 1024 that its suffix means; -1: none.
std::optional<std::uint64_t> scaled(std::string_view text, std::string_view suffixes, int bare) {
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto value = number(text.substr(0, digits));
    const std::string suffix = text::lowered(text.substr(digits));
    int power = bare;
    if (!suffix.empty()) {
        const auto at = suffixes.find(suffix.front());
        const auto rest = std::string_view(suffix).substr(1);
        if (at == std::string_view::npos || (!rest.empty() && rest != "b")) {
            return std::nullopt;
        }
        power = static_cast<int>(at);
    }
    constexpr unsigned kBits = 10;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 60U;
    const unsigned shift = static_cast<unsigned>(power) * kBits;
    if (!value || *value > std::uint64_t{1} << 40U || *value > kMost >> shift) {
        return std::nullopt;
    }
    return *value << shift;
}

} // namespace

std::optional<std::chrono::seconds> slurm_time(std::string_view text) {
    const auto dash = text.find('-');
    std::uint64_t days = 0;
    if (dash != std::string_view::npos) {
        const auto value = number(text.substr(0, dash));
        if (!value || *value >= kMostOfTime) {
            return std::nullopt;
        }
        days = *value;
        text.remove_prefix(dash + 1);
    }
    auto parts = clock_parts(text);
    if (!parts || parts->size() > 3) {
        return std::nullopt;
    }
    const bool starts_with_hours = dash != std::string_view::npos || parts->size() == 3;
    parts->resize(3, 0);
    const auto& part = *parts;
    return seconds(starts_with_hours ? ((days * 24 + part[0]) * 60 + part[1]) * 60 + part[2]
                                     : part[0] * 60 + part[1]);
}

std::optional<std::chrono::seconds> pbs_time(std::string_view text) {
    const auto parts = clock_parts(text);
    if (!parts || parts->size() > 4) {
        return std::nullopt;
    }
    constexpr std::uint64_t kUnits[] = {1, 60, 3600, 86400};
    std::uint64_t total = 0;
    for (std::size_t index = 0; index < parts->size(); ++index) {
        total += (*parts)[parts->size() - 1 - index] * kUnits[index];
    }
    return seconds(total);
}

std::optional<std::uint64_t> slurm_memory(std::string_view text) {
    constexpr int kMega = 2;
    return scaled(text, "bkmgtp", kMega);
}

std::optional<std::uint64_t> pbs_memory(std::string_view text) {
    constexpr std::uint64_t kWord = 8;
    const bool is_words = text.ends_with('w') || text.ends_with('W');
    if (!is_words) {
        return scaled(text, "bkmgtp", 0);
    }
    const auto bytes = scaled(text.substr(0, text.size() - 1), "bkmgtp", 0);
    return bytes ? std::optional(*bytes * kWord) : std::nullopt;
}

} // namespace cybele::schedulers
