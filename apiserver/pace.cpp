// SPDX-License-Identifier: Apache-2.0
#include "apiserver/pace.hpp"

#include <algorithm>
#include <cmath>

namespace cybele::apiserver {

namespace {

constexpr std::chrono::milliseconds kRaiseTime{10'000};
constexpr double kMillisecondsPerSecond = 1000;

} // namespace

void Pace::fill(Moment now) {
    while (rate_ < full_ && now - raised_ >= kRaiseTime) {
        rate_ = std::min(full_, rate_ + 1);
        raised_ += kRaiseTime;
    }
    if (filled_ >= Moment(0)) {
        const double seconds =
            static_cast<double>((now - filled_).count()) / kMillisecondsPerSecond;
        // The burst shrinks with the rate: an overloaded server does not get all of it.
        tokens_ = std::min(burst_ * rate_ / full_, tokens_ + seconds * rate_);
    }
    filled_ = now;
}

bool Pace::take(Moment now) {
    fill(now);
    if (tokens_ < 1) {
        return false;
    }
    tokens_ -= 1;
    return true;
}

Moment Pace::next(Moment now) {
    fill(now);
    if (tokens_ >= 1) {
        return now;
    }
    const double wait = std::ceil((1 - tokens_) / rate_ * kMillisecondsPerSecond);
    return now + std::chrono::milliseconds(static_cast<std::int64_t>(wait));
}

void Pace::slow_down(Moment now) {
    fill(now);
    rate_ = std::max(1.0, rate_ / 2);
    tokens_ = 0;
    raised_ = now;
}

} // namespace cybele::apiserver
