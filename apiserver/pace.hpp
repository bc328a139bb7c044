// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/exchange.hpp"

namespace cybele::apiserver {

/// Limits writes to so many per second, with a burst. Halved when the server is overloaded, then
/// one per second more every ten seconds.
class Pace {
public:
    explicit Pace(double per_second = 50, double burst = 100)
        : full_(per_second), rate_(per_second), burst_(burst), tokens_(burst) {}

    /// Takes one; false: not before next().
    [[nodiscard]] bool take(Moment now);
    [[nodiscard]] Moment next(Moment now);
    /// The server answered 429.
    void slow_down(Moment now);
    [[nodiscard]] double rate() const {
        return rate_;
    }

private:
    void fill(Moment now);

    double full_;
    double rate_;
    double burst_;
    double tokens_;
    Moment filled_{-1};
    Moment raised_{0};
};

} // namespace cybele::apiserver
