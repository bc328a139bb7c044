// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/version.hpp"

#include <algorithm>
#include <charconv>

namespace cybele::compatibility {
namespace {

/// How many numbers a text names: `4.1` two.
std::size_t depth_of(std::string_view text) {
    return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '.'));
}

} // namespace

Version parse_version(std::string_view text) {
    Version version;
    if (text.starts_with('v')) {
        text.remove_prefix(1);
    }
    for (std::uint32_t& number : version.numbers) {
        const auto* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        if (error != std::errc()) {
            return version;
        }
        version.is_known = true;
        text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
        if (!text.starts_with('.')) {
            return version;
        }
        text.remove_prefix(1);
    }
    return version;
}

bool VersionRange::holds(const Version& version) const {
    if (first.empty() && last.empty()) {
        return true;
    }
    if (!version.is_known) {
        return false;
    }
    if (!first.empty() && version < parse_version(first)) {
        return false;
    }
    if (last.empty()) {
        return true;
    }
    const Version end = parse_version(last);
    const auto depth = std::min<std::size_t>(depth_of(last), version.numbers.size());
    const auto upto = [depth](const Version& some) {
        return some.numbers.begin() + static_cast<std::ptrdiff_t>(depth);
    };
    return !std::lexicographical_compare(
        end.numbers.begin(), upto(end), version.numbers.begin(), upto(version));
}

} // namespace cybele::compatibility
