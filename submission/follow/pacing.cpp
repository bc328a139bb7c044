// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/pacing.hpp"

#include <algorithm>
#include <cmath>

namespace cybele::submission {
namespace {
constexpr Pacing::Milliseconds kFirstPause{1000};
constexpr Pacing::Milliseconds kLongestAfterFailures{300'000};
constexpr double kSpread = 0.2;
} // namespace

void Pacing::saw_change() {
    step_ = std::min(kFirstPause, longest_);
}

void Pacing::saw_nothing() {
    step_ = std::min(step_ * 3 / 2, longest_);
}

void Pacing::saw_failure() {
    step_ = std::min(step_ * 2, kLongestAfterFailures);
}

Pacing::Milliseconds Pacing::pause(double chance) const {
    const double factor = 1.0 - kSpread + 2.0 * kSpread * chance;
    return Milliseconds(std::llround(static_cast<double>(step_.count()) * factor));
}

} // namespace cybele::submission
