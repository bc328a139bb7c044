// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/back_off.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace cybele;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// When something is tried that fails from 1,000 seconds on, in seconds since then.
std::vector<long> tries_of(seconds usual, seconds length) {
    constexpr seconds kStart{1'000};
    bridge::BackOff back_off;
    std::vector<long> tries;
    for (milliseconds now = kStart; now <= kStart + length; now += seconds(1)) {
        if (back_off.is_due(now)) {
            tries.push_back(std::chrono::duration_cast<seconds>(now - kStart).count());
            back_off.failed(now, usual);
        }
    }
    return tries;
}

} // namespace

TEST_CASE("what keeps failing is tried less and less often, at most every five minutes") {
    CHECK(tries_of(seconds(15), seconds(300)) ==
          std::vector<long>{0, 15, 30, 60, 120, 180, 240, 300});
    const std::vector<long> tries = tries_of(seconds(15), seconds(7'200));
    REQUIRE(tries.size() < 50);
    CHECK(tries.back() - tries[tries.size() - 2] == 300);
    // A pause that is configured longer is not shortened.
    CHECK(tries_of(seconds(600), seconds(1'300)) == std::vector<long>{0, 600, 1200});
}

TEST_CASE("after a success the next failure is the first one again") {
    bridge::BackOff back_off;
    CHECK(back_off.is_due(milliseconds(0)));
    back_off.failed(seconds(100), seconds(15));
    back_off.failed(seconds(500), seconds(15));
    CHECK(back_off.next() == seconds(560));
    CHECK_FALSE(back_off.is_due(seconds(559)));
    CHECK(back_off.is_due(seconds(560)));
    back_off.succeeded();
    CHECK(back_off.is_due(seconds(501)));
    back_off.failed(seconds(501), seconds(15));
    CHECK(back_off.next() == seconds(516));
}
