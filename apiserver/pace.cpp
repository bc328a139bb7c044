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
        tokens_ = std::min(most(), tokens_ + seconds * rate_);
    }
    filled_ = now;
}

double Pace::needed(bool is_urgent) const {
    return is_urgent ? 1 : std::max(1.0, std::min(most(), 1 + most() / 2));
}

bool Pace::take(Moment now, bool is_urgent) {
    fill(now);
    if (tokens_ < needed(is_urgent)) {
        return false;
    }
    tokens_ -= 1;
    return true;
}

Moment Pace::next(Moment now, bool is_urgent) {
    fill(now);
    const double missing = needed(is_urgent) - tokens_;
    if (missing <= 0) {
        return now;
    }
    const double wait = std::ceil(missing / rate_ * kMillisecondsPerSecond);
    return now + std::chrono::milliseconds(static_cast<std::int64_t>(wait));
}

void Pace::slow_down(Moment now) {
    fill(now);
    rate_ = std::max(1.0, rate_ / 2);
    tokens_ = 0;
    raised_ = now;
}

} // namespace cybele::apiserver
