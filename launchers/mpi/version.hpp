// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

namespace cybele::compatibility {

/// The first three numbers of a version: `4.1.4`, `6.0.0rc2`, `v5.0`, `2.3.7-1`. What is not
/// written is 0; a text that begins with no number is not known.
struct Version {
    std::array<std::uint32_t, 3> numbers{};
    bool is_known = false;

    [[nodiscard]] std::uint32_t major() const {
        return numbers[0];
    }
    auto operator<=>(const Version&) const = default;
};
[[nodiscard]] Version parse_version(std::string_view text);

/// Series from `first` to `last`, both inclusive; `last` counts with as many numbers as it has, so
/// that `4.1` holds 4.1.8 and `4` holds 4.1. Empty texts leave that end open.
struct VersionRange {
    std::string_view first;
    std::string_view last;

    /// False for a version that is not known, unless both ends are open.
    [[nodiscard]] bool holds(const Version& version) const;
};

} // namespace cybele::compatibility
