// SPDX-License-Identifier: Apache-2.0
#include "apiserver/revision.hpp"

#include "support/characters.hpp"

#include <algorithm>

namespace cybele::apiserver {

namespace {

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

std::string_view without_zeros(std::string_view number) {
    const std::size_t first = number.find_first_not_of('0');
    return first == std::string_view::npos ? number.substr(number.size() - 1)
                                           : number.substr(first);
}

} // namespace

std::partial_ordering compare_revisions(std::string_view left, std::string_view right) {
    if (left == right) {
        return std::partial_ordering::equivalent;
    }
    if (!is_number(left) || !is_number(right)) {
        return std::partial_ordering::unordered;
    }
    left = without_zeros(left);
    right = without_zeros(right);
    if (left.size() != right.size()) {
        return left.size() <=> right.size();
    }
    return left.compare(right) <=> 0;
}

std::string newer_revision(std::string_view earlier, std::string_view later) {
    const bool is_older = compare_revisions(later, earlier) == std::partial_ordering::less;
    return std::string(is_older ? earlier : later);
}

} // namespace cybele::apiserver
