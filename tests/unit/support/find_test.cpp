// SPDX-License-Identifier: Apache-2.0
#include "support/find.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using cybele::contains;
using cybele::find_row;

namespace {

struct Row {
    std::string_view name;
    int number = 0;
};
constexpr Row kRows[] = {{"one", 1}, {"two", 2}, {"other", 2}};

} // namespace

TEST_CASE("a value is in a list, or in a member of its rows") {
    CHECK(contains(std::vector<std::string>{"a", "b"}, std::string_view("b")));
    CHECK_FALSE(contains(std::vector<std::string>{"a", "b"}, "c"));
    CHECK(contains({"a", "b"}, std::string("a")));
    CHECK(contains(kRows, "two", &Row::name));
    CHECK_FALSE(contains(kRows, 3, &Row::number));
}

TEST_CASE("the first row is found by a member or by a test; null where none is") {
    CHECK(find_row(kRows, 2, &Row::number) == &kRows[1]);
    CHECK(find_row(kRows, std::string("nine"), &Row::name) == nullptr);
    CHECK(find_row(kRows, [](const Row& row) { return row.name.size() > 3; }) == &kRows[2]);
    std::vector<Row> rows(kRows, kRows + 2);
    find_row(rows, 1, &Row::number)->number = 7;
    CHECK(rows.front().number == 7);
}
