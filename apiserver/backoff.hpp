// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/exchange.hpp"

#include <chrono>
#include <cstdint>

namespace cybele::apiserver {

/// Numbers that differ from process to process, so that many do not ask at the same time.
class Jitter {
public:
    explicit Jitter(std::uint64_t seed) : state_(seed) {}
    /// From 0 to 1, 1 excluded.
    [[nodiscard]] double next();
    /// `time` or up to `share` of it more.
    [[nodiscard]] std::chrono::milliseconds stretch(std::chrono::milliseconds time, double share);

private:
    std::uint64_t state_;
};

/// The pauses after failures: 1 s, doubled up to 60 s, each with jitter; what the server asks for
/// where it does.
class Backoff {
public:
    Backoff() = default;
    Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest)
        : first_(first), longest_(longest), next_(first) {}

    [[nodiscard]] std::chrono::milliseconds pause(Jitter& jitter);
    /// After that reply: its Retry-After, at most five minutes, else pause().
    [[nodiscard]] std::chrono::milliseconds pause(const Reply& reply, Jitter& jitter);
    void reset() {
        next_ = first_;
    }

private:
    std::chrono::milliseconds first_{1'000};
    std::chrono::milliseconds longest_{60'000};
    std::chrono::milliseconds next_{1'000};
};

} // namespace cybele::apiserver
