// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job_fields_rules.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

using document::ValueFault;

constexpr std::string_view kAlphanumeric =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Letters and digits, and after the first one also those of `more`.
bool is_word_of(std::string_view text, std::string_view more) {
    return !text.empty() && kAlphanumeric.find(text.front()) != std::string_view::npos &&
           text.find_first_not_of(fmt::format("{}{}", kAlphanumeric, more)) ==
               std::string_view::npos;
}

/// A part of a time: so many digits at that place.
std::optional<unsigned> digits_at(std::string_view text, std::size_t at, std::size_t count) {
    unsigned value = 0;
    const std::string_view part = text.substr(at, count);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool is_number = part.size() == count && error == std::errc() &&
                           end == part.data() + part.size() &&
                           part.find_first_not_of("0123456789") == std::string_view::npos;
    return is_number ? std::optional(value) : std::nullopt;
}

struct TimePart {
    std::size_t at;
    std::size_t digits;
    unsigned least;
    unsigned most;
};
constexpr std::array<TimePart, 6> kTimeParts{{{0, 4, 2000, 9999},
                                              {5, 2, 1, 12},
                                              {8, 2, 1, 31},
                                              {11, 2, 0, 23},
                                              {14, 2, 0, 59},
                                              {17, 2, 0, 59}}};
constexpr std::string_view kTimeForm = "0000-00-00T00:00:00";

} // namespace

ValueFault check_begin(std::string_view text) {
    ValueFault complaint{"a time is a date and a time of day, which exist",
                         "write for example `2026-11-26T22:00`"};
    constexpr std::size_t kSeconds = 3;
    if (text.size() != kTimeForm.size() && text.size() != kTimeForm.size() - kSeconds) {
        return complaint;
    }
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (kTimeForm[at] != '0' && kTimeForm[at] != text[at]) {
            return complaint;
        }
    }
    for (const TimePart& part : kTimeParts) {
        const auto value = part.at < text.size() ? digits_at(text, part.at, part.digits)
                                                 : std::optional(part.least);
        if (!value || *value < part.least || *value > part.most) {
            return complaint;
        }
    }
    const auto number = [text](const TimePart& part) {
        return digits_at(text, part.at, part.digits).value_or(0);
    };
    const std::chrono::year_month_day date{
        std::chrono::year(static_cast<int>(number(kTimeParts[0]))),
        std::chrono::month(number(kTimeParts[1])),
        std::chrono::day(number(kTimeParts[2]))};
    return date.ok() ? ValueFault{} : complaint; // 30 February does not exist
}

ValueFault check_host(std::string_view text) {
    if (is_word_of(text, "._,[]-")) {
        return {};
    }
    return {"a node's name has letters, digits, `.`, `_` and `-`; Slurm also reads `[01-04]`",
            "write one node an item"};
}

ValueFault check_license(std::string_view text) {
    if (is_word_of(text, "_.@/-")) {
        return {};
    }
    return {"a licence's name has letters, digits and `_ . @ / -`; the count is the value",
            "write for example `matlab: 2`"};
}

ValueFault check_gres(std::string_view text) {
    if (text == "gpu" || text.starts_with("gpu:")) {
        return {"GPUs have a field of their own, which the container needs, too",
                "remove `gpu`; `gpus-per-node: {count: 2, form: gres}` asks for GPUs"};
    }
    if (is_word_of(text, "_.:/-") && !text.ends_with(':')) {
        return {};
    }
    return {"a resource's name has letters, digits and `_ . : / -`; the count is the value",
            "write for example `lscratch: 100`"};
}

ValueFault check_memory_word(std::string_view text) {
    if (text == "all") {
        return {};
    }
    return {"`memory` has the word `all` alone; a size says what it is for",
            "write `memory-per-node: " + std::string(text) + "`, or `memory: all`"};
}

} // namespace cybele::launchers
