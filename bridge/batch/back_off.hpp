// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace cybele::bridge {

/// When something that keeps failing is tried again: at first after as long as it has failed for,
/// then once a minute, and after ten minutes less and less often. So it is soon noticed that a
/// failure is over, and a long one costs few calls. Times are those of boot_time().
class BackOff {
public:
    [[nodiscard]] bool is_due(std::chrono::milliseconds now) const {
        return now >= next_;
    }
    [[nodiscard]] std::chrono::milliseconds next() const {
        return next_;
    }
    void failed(std::chrono::milliseconds now, std::chrono::milliseconds usual) {
        constexpr int kTenth = 10;
        since_ = since_.value_or(now);
        const std::chrono::milliseconds length = now - *since_;
        const std::chrono::milliseconds pause =
            std::max(std::min(length, kMinute), length / kTenth);
        next_ = now + std::max(usual, std::min(pause, kLongest));
    }
    void succeeded() {
        *this = {};
    }

private:
    static constexpr std::chrono::milliseconds kMinute{60'000};
    static constexpr std::chrono::milliseconds kLongest{300'000};

    std::optional<std::chrono::milliseconds> since_;
    std::chrono::milliseconds next_{0};
};

} // namespace cybele::bridge
