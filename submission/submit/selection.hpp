// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/journal/entry.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::submission {

/// Which jobs of the journal are meant.
struct Selection {
    std::vector<State> states; ///< none: all
    std::string name;          ///< empty: all
    std::int64_t since = 0;    ///< submitted then or later, Unix seconds

    [[nodiscard]] bool holds(const Entry& entry) const;
    /// Whether jobs that have ended can be among them although they were not asked for by a word.
    [[nodiscard]] bool reaches_ended() const;
};

/// As a person writes it: states with commas between them, a date or an age. All faults at once,
/// each kUsage. `now` is Unix seconds.
[[nodiscard]] Result<Selection> read_selection(const std::string& states,
                                               const std::string& name,
                                               const std::string& since,
                                               std::int64_t now);

/// `2026-11-22`, `2026-11-22T08:30`, `2026-11-22T08:30:00`, each with `Z` or not: the time is UTC;
/// or an age as documents write durations: `2 d`, `1h30m`.
[[nodiscard]] std::optional<std::int64_t> read_moment(std::string_view text, std::int64_t now);

} // namespace cybele::submission
