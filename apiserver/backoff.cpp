// SPDX-License-Identifier: Apache-2.0
#include "apiserver/backoff.hpp"

#include <algorithm>

namespace cybele::apiserver {

namespace {

constexpr std::chrono::milliseconds kShortestAsked{1'000};
constexpr std::chrono::milliseconds kLongestAsked{300'000};
constexpr double kBackoffJitter = 0.2;

} // namespace

double Jitter::next() {
    // splitmix64
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    mixed ^= mixed >> 31U;
    constexpr double kRange = 9007199254740992.0; // 2^53
    return static_cast<double>(mixed >> 11U) / kRange;
}

std::chrono::milliseconds Jitter::stretch(std::chrono::milliseconds time, double share) {
    const double more = static_cast<double>(time.count()) * share * next();
    return time + std::chrono::milliseconds(static_cast<std::int64_t>(more));
}

std::chrono::milliseconds Backoff::pause(Jitter& jitter) {
    const std::chrono::milliseconds now = next_;
    next_ = std::min(next_ * 2, longest_);
    return jitter.stretch(now, kBackoffJitter);
}

std::chrono::milliseconds Backoff::pause(const Reply& reply, Jitter& jitter) {
    if (reply.retry_after) {
        const std::chrono::milliseconds asked(*reply.retry_after);
        return jitter.stretch(std::clamp(asked, kShortestAsked, kLongestAsked), kBackoffJitter);
    }
    return pause(jitter);
}

} // namespace cybele::apiserver
