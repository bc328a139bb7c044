// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bpmf {

/// How strongly a compound acts on a protein; what is held back is not learned from.
struct Rating {
    std::int32_t compound = 0;
    std::int32_t protein = 0;
    double value = 0;
    std::int64_t is_held_back = 0;
};

struct Size {
    int compounds = 2000;
    int proteins = 200;
    int factors = 8;
};

/// 60 ratings a compound (or all proteins, where there are fewer), one in six held back: products
/// of hidden factors with noise of standard deviation kNoise. The same for the same seed.
constexpr double kNoise = 0.3;
std::vector<Rating> generate(const Size& size, std::uint64_t seed);

/// A line a rating: compound, protein, value, "train" or "test". False if the file cannot be
/// written, or read as that.
bool write(const std::string& file, const std::vector<Rating>& ratings);
bool read(const std::string& file, std::vector<Rating>& ratings);

} // namespace bpmf
