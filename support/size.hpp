// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cybele {

/// A size as documents write it: `512 MiB`, `4GiB`, `4G` (= GiB); whole bytes, units of 1024 (KiB
/// to PiB). A bare number and `4 GB` are nothing.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

/// The exact form with the largest unit that divides it: `4 GiB`; below a KiB `123 B`, which only
/// messages show.
[[nodiscard]] std::string format_size(std::uint64_t bytes);

/// What a user who wrote `text` means: `4 GB` → `4 GiB`, `1.5 GiB` → `1536 MiB`. Empty where that
/// cannot be known: `4`, `much`.
[[nodiscard]] std::string suggest_size(std::string_view text);

/// The help for `text`, which parse_size() does not read: what it means, or the forms to choose
/// from.
[[nodiscard]] std::string help_for_size(std::string_view text);

} // namespace cybele
