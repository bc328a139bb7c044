// SPDX-License-Identifier: Apache-2.0
#include "jobs/follow/array.hpp"

#include <doctest/doctest.h>

using namespace cybele;
using jobs::State;

namespace {

std::vector<jobs::Element> elements_of(jobs::Entry& entry, std::initializer_list<State> states) {
    std::vector<jobs::Element> elements;
    jobs::add_elements(entry, 0, elements);
    REQUIRE(elements.size() == states.size());
    auto element = elements.begin();
    for (const State state : states) {
        element->entry.state = state;
        element->entry.code = state == State::kDone ? 0 : 40 + (element - elements.begin());
        element->entry.ended = jobs::is_over(state) ? 100 + (element - elements.begin()) : 0;
        ++element;
    }
    return elements;
}

} // namespace

TEST_CASE("the indices of an array") {
    using Indices = std::vector<std::uint32_t>;
    CHECK(jobs::array_indices("0-3") == Indices{0, 1, 2, 3});
    CHECK(jobs::array_indices("0-9:3%2") == Indices{0, 3, 6, 9});
    CHECK(jobs::array_indices("1,4,7%1") == Indices{1, 4, 7});
    CHECK(jobs::array_indices("5") == Indices{5});
    CHECK(jobs::array_indices("1-2,5") == Indices{1, 2, 5});
}

TEST_CASE("the id of an element, as each scheduler writes it") {
    CHECK(jobs::element_id("12", 3) == "12_3");
    CHECK(jobs::element_id("12[].head", 3) == "12[3].head");
    CHECK(jobs::element_id("12[]", 3) == "12[3]");
}

TEST_CASE("an array ends when all its elements have, as the first that did not end well") {
    jobs::Entry entry;
    entry.id = "12";
    entry.array = "0-2";
    entry.record = "/r";
    auto elements = elements_of(entry, {State::kDone, State::kFailed, State::kPending});
    CHECK(elements[1].entry.record == "/r/1");
    jobs::fold_elements(elements, 0, entry);
    CHECK(entry.state == State::kPending);
    CHECK(entry.ended == 0);
    elements = elements_of(entry, {State::kDone, State::kRunning, State::kPending});
    jobs::fold_elements(elements, 0, entry);
    CHECK(entry.state == State::kRunning);
    elements = elements_of(entry, {State::kDone, State::kFailed, State::kTimeout});
    jobs::fold_elements(elements, 0, entry);
    CHECK(entry.state == State::kFailed);
    CHECK(entry.ended == 102);
    CHECK(entry.shell_code() == 41);
    elements = elements_of(entry, {State::kDone, State::kDone, State::kDone});
    jobs::fold_elements(elements, 0, entry);
    CHECK(entry.shell_code() == 0);
}

TEST_CASE("a job that is no array is its only element") {
    jobs::Entry entry;
    entry.id = "12";
    std::vector<jobs::Element> elements;
    jobs::add_elements(entry, 4, elements);
    REQUIRE(elements.size() == 1);
    CHECK(elements[0].entry.id == "12");
    elements[0].entry.state = State::kHeld;
    jobs::fold_elements(elements, 3, entry);
    CHECK(entry.state == State::kSubmitting);
    jobs::fold_elements(elements, 4, entry);
    CHECK(entry.state == State::kHeld);
}
