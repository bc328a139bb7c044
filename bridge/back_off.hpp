// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace cybele::bridge {

/// When something that keeps failing is tried again: at first as usual, then after half of the
/// time that it has failed for, at most five minutes. So a short failure is noticed to be over
/// soon, and a long one costs few calls. Times are those of boot_time().
class BackOff {
public:
    static constexpr std::chrono::milliseconds kLongest{300'000};

    [[nodiscard]] bool is_due(std::chrono::milliseconds now) const {
        return now >= next_;
    }
    [[nodiscard]] std::chrono::milliseconds next() const {
        return next_;
    }
    void failed(std::chrono::milliseconds now, std::chrono::milliseconds usual) {
        since_ = since_.value_or(now);
        next_ = now + std::max(usual, std::min(kLongest, (now - *since_) / 2));
    }
    void succeeded() {
        *this = {};
    }

private:
    std::optional<std::chrono::milliseconds> since_;
    std::chrono::milliseconds next_{0};
};

} // namespace cybele::bridge
