// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

namespace bpmf {

/// Random numbers that depend on what they are for (a seed and three numbers: iteration, side, row)
/// and on nothing else: the ranks may draw them in any order and anywhere.
class Stream {
public:
    Stream(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c)
        : key_(mix(mix(mix(mix(seed) ^ a) ^ b) ^ c)) {}

    /// 64 bits.
    std::uint64_t bits() {
        return mix(key_ + ++drawn_ * 0x9E3779B97F4A7C15U);
    }
    /// In (0, 1).
    double uniform() {
        return (static_cast<double>(bits() >> 12U) + 0.5) * 0x1p-52;
    }
    /// Mean 0, variance 1.
    double normal() {
        constexpr double kTwoPi = 6.283185307179586;
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(kTwoPi * uniform());
    }
    /// Chi-squared with `freedom` >= 2 degrees: twice a gamma variate, by cubes of a normal one
    /// that are taken or thrown away.
    double chi_squared(double freedom) {
        const double d = freedom / 2 - 1.0 / 3;
        const double c = 1 / std::sqrt(9 * d);
        for (;;) {
            const double x = normal();
            const double v = std::pow(1 + c * x, 3);
            const double u = uniform();
            if (v > 0 && std::log(u) < x * x / 2 + d - d * v + d * std::log(v)) {
                return 2 * d * v;
            }
        }
    }

private:
    static std::uint64_t mix(std::uint64_t x) {
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
        return x ^ (x >> 31U);
    }

    std::uint64_t key_;
    std::uint64_t drawn_ = 0;
};

} // namespace bpmf
