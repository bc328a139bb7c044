// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace cybele {

/// Whether a value, or one whose `member` it is, is in the list.
template <class List, class Value, class Member = std::identity>
[[nodiscard]] constexpr bool contains(const List& list, const Value& value, Member member = {}) {
    return std::ranges::find(list, value, member) != std::ranges::end(list);
}

template <class Entry, class Value>
[[nodiscard]] constexpr bool contains(std::initializer_list<Entry> list, const Value& value) {
    return std::ranges::find(list, value) != list.end();
}

/// The first row that the test accepts; null where none is.
template <class Rows, class Test>
[[nodiscard]] constexpr auto* find_row(Rows& rows, Test test) {
    const auto found = std::ranges::find_if(rows, std::move(test));
    return found == std::ranges::end(rows) ? nullptr : &*found;
}

/// The first row whose `member` is the value; null where none is.
template <class Rows, class Value, class Member>
[[nodiscard]] constexpr auto* find_row(Rows& rows, const Value& value, Member member) {
    const auto found = std::ranges::find(rows, value, member);
    return found == std::ranges::end(rows) ? nullptr : &*found;
}

} // namespace cybele
