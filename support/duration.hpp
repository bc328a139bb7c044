// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cybele {

/// A duration as documents write it: `90 s`, `30 min`, `1h30m`, `2 d`, `01:30:00`, `1-12:00:00`;
/// whole seconds, at most 1,000,000,000. A bare number and `1:30` are nothing: schedulers read
/// them differently.
[[nodiscard]] std::optional<std::chrono::seconds> parse_duration(std::string_view text);

/// The shortest exact form that parse_duration() reads: `90 s`, `30 min`, `1 h 30 min`, `2 d`.
[[nodiscard]] std::string format_duration(std::chrono::seconds duration);

/// What a user who wrote `text` means: `40 minutes` → `40 min`, `1.5 h` → `1 h 30 min`, `1-0` → `1
/// d`. Empty where that cannot be known: `30`, `1:30`, `soon`.
[[nodiscard]] std::string suggest_duration(std::string_view text);

/// The help for `text`, which parse_duration() does not read: what it means, or the forms to choose
/// from.
[[nodiscard]] std::string help_for_duration(std::string_view text);

} // namespace cybele
