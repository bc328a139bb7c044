// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/selection.hpp"

#include <doctest/doctest.h>

using namespace cybele;
using submission::State;

TEST_CASE("a moment is a date, a time of UTC, or an age") {
    constexpr std::int64_t kNow = 1'000'000'000; // 2001-09-09T01:46:40Z
    const std::pair<const char*, std::int64_t> rows[] = {
        {"2 d", kNow - 172'800},
        {"1h30m", kNow - 5400},
        {"2001-09-09", 999'993'600},
        {"2001-09-09T01:46", 999'999'960},
        {"2001-09-09T01:46:40", kNow},
        {"2001-09-09T01:46:40Z", kNow},
        {"2024-02-29", 1'709'164'800},
    };
    for (const auto& [text, moment] : rows) {
        CAPTURE(text);
        CHECK(submission::read_moment(text, kNow) == moment);
    }
    for (const char* text : {"",
                             "yesterday",
                             "2023-02-29",
                             "2001-13-01",
                             "2001-9-9",
                             "2001-09-09T24:00",
                             "30",
                             "2001"}) {
        CAPTURE(text);
        CHECK_FALSE(submission::read_moment(text, kNow).has_value());
    }
}

TEST_CASE("states are chosen by their words; every mistake is told") {
    const auto good = submission::read_selection("failed, timeout", "", "", 0);
    REQUIRE(good.has_value());
    CHECK(good->states == std::vector<State>{State::kFailed, State::kTimeout});
    CHECK(good->reaches_ended());
    submission::Entry entry;
    entry.state = State::kTimeout;
    CHECK(good->holds(entry));
    entry.state = State::kDone;
    CHECK_FALSE(good->holds(entry));
    CHECK_FALSE(submission::read_selection("pending", "", "", 0).value().reaches_ended());
    CHECK(submission::read_selection("", "", "1 d", 100'000).value().reaches_ended());
    const auto bad = submission::read_selection("broken,done,odd", "", "soon", 0);
    REQUIRE_FALSE(bad.has_value());
    CHECK(bad.error().faults().size() == 3);
    CHECK(bad.error().code() == ErrorCode::kUsage);
}

TEST_CASE("jobs are chosen by the moment of their submission") {
    const auto chosen = submission::read_selection("", "demo", "10 s", 1000).value();
    submission::Entry entry;
    entry.name = "demo";
    entry.asked = 990;
    CHECK(chosen.holds(entry));
    entry.asked = 989;
    CHECK_FALSE(chosen.holds(entry));
}
