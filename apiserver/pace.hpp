// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/exchange.hpp"

namespace cybele::apiserver {

/// Limits writes to so many per second, with a burst, of which half is for urgent ones. Halved when
/// the server is overloaded, then one per second more every ten seconds.
class Pace {
public:
    explicit Pace(double per_second = 50, double burst = 100)
        : full_(per_second), rate_(per_second), burst_(burst), tokens_(burst) {}

    /// Takes one; false: not before next().
    [[nodiscard]] bool take(Moment now, bool is_urgent = false);
    [[nodiscard]] Moment next(Moment now, bool is_urgent = false);
    /// The server answered 429.
    void slow_down(Moment now);
    [[nodiscard]] double rate() const {
        return rate_;
    }

private:
    void fill(Moment now);
    /// The burst shrinks with the rate: an overloaded server does not get all of it.
    [[nodiscard]] double most() const {
        return burst_ * rate_ / full_;
    }
    /// How many there must be to take one.
    [[nodiscard]] double needed(bool is_urgent) const;

    double full_;
    double rate_;
    double burst_;
    double tokens_;
    Moment filled_{-1};
    Moment raised_{0};
};

} // namespace cybele::apiserver
