// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/selection.hpp"

#include "submission/backends/command_backend.hpp"
#include "support/characters.hpp"
#include "support/duration.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <chrono>

namespace cybele::submission {
namespace {

Fault selection_fault(Problem problem, std::string because, std::string help) {
    return Fault(ErrorCode::kUsage, std::move(problem), std::move(because), std::move(help));
}

std::string all_states() {
    std::string names;
    for (int at = 0; at <= static_cast<int>(State::kNotSubmitted); ++at) {
        names += (names.empty() ? "" : ", ") + std::string(state_text(static_cast<State>(at)));
    }
    return names;
}

/// Numbers of `text` where it has the form of `shape`, whose `0` stand for digits.
std::optional<std::vector<int>> numbers_in(std::string_view text, std::string_view shape) {
    if (text.size() != shape.size()) {
        return std::nullopt;
    }
    std::vector<int> numbers{0};
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool has_digit = is_digit(text[at]);
        if (shape[at] == '0' ? !has_digit : text[at] != shape[at]) {
            return std::nullopt;
        }
        if (has_digit) {
            numbers.back() = numbers.back() * 10 + (text[at] - '0');
        } else {
            numbers.push_back(0);
        }
    }
    return numbers;
}

/// Year, month, day, and as much of the time as was written.
std::optional<std::int64_t> moment_of(std::vector<int> numbers) {
    constexpr std::size_t kParts = 6;
    numbers.resize(kParts, 0);
    const std::chrono::year_month_day date{std::chrono::year(numbers[0]),
                                           std::chrono::month(static_cast<unsigned>(numbers[1])),
                                           std::chrono::day(static_cast<unsigned>(numbers[2]))};
    if (!date.ok() || numbers[3] > 23 || numbers[4] > 59 || numbers[5] > 59) {
        return std::nullopt;
    }
    const std::chrono::sys_seconds moment =
        std::chrono::sys_days(date) + std::chrono::hours(numbers[3]) +
        std::chrono::minutes(numbers[4]) + std::chrono::seconds(numbers[5]);
    return moment.time_since_epoch().count();
}

} // namespace

bool Selection::holds(const Entry& entry) const {
    return (states.empty() || contains(states, entry.state)) &&
           (name.empty() || entry.name == name) && entry.asked >= since;
}

bool Selection::reaches_ended() const {
    return since != 0 || std::ranges::any_of(states, is_over);
}

std::optional<std::int64_t> read_moment(std::string_view text, std::int64_t now) {
    if (const auto age = parse_duration(text)) {
        return now - age->count();
    }
    if (text.ends_with('Z')) {
        text.remove_suffix(1);
    }
    for (const std::string_view shape : {"0000-00-00", "0000-00-00T00:00", "0000-00-00T00:00:00"}) {
        auto numbers = numbers_in(text, shape);
        if (!numbers) {
            continue;
        }
        return moment_of(*numbers);
    }
    return std::nullopt;
}

Result<Selection> read_selection(const std::string& states,
                                 const std::string& name,
                                 const std::string& since,
                                 std::int64_t now) {
    Selection selection;
    selection.name = name;
    Faults faults;
    for (const std::string_view word : text::split(states, ',')) {
        const auto state = state_of_text(text::trimmed(word));
        if (state) {
            selection.states.push_back(*state);
        } else if (!states.empty()) {
            faults.add(selection_fault(
                problem("state-unknown", "there is no state '" + printable(word) + "'"),
                "jobs are " + all_states(),
                state_of_text(text::lowered(text::trimmed(word)))
                    ? "did you mean '" + text::lowered(text::trimmed(word)) + "'?"
                    : "name one, or several with commas: --state failed,timeout"));
        }
    }
    if (!since.empty()) {
        if (const auto moment = read_moment(since, now)) {
            selection.since = std::max<std::int64_t>(*moment, 1);
        } else {
            faults.add(selection_fault(
                problem("since-value", "--since does not read '" + printable(since) + "'"),
                "it requires an age or a UTC time",
                "write --since '2 d', or --since 2026-11-22T08:30"));
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return selection;
}

} // namespace cybele::submission
