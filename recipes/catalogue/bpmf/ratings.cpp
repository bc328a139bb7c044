// SPDX-License-Identifier: Apache-2.0
#include "ratings.hpp"

#include "stream.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>

namespace bpmf {
namespace {

constexpr int kRatingsPerCompound = 60;
constexpr int kHeldBackEach = 6;

std::vector<double> hidden(Stream stream, int factors) {
    std::vector<double> values(static_cast<std::size_t>(factors));
    for (double& value : values) {
        value = stream.normal() / std::sqrt(std::sqrt(factors));
    }
    return values;
}

} // namespace

std::vector<Rating> generate(const Size& size, std::uint64_t seed) {
    std::vector<Rating> ratings;
    std::vector<std::int32_t> proteins(static_cast<std::size_t>(size.proteins));
    for (int i = 0; i < size.compounds; ++i) {
        const auto row = static_cast<std::uint64_t>(i);
        const auto compound = hidden(Stream(seed, 1, 0, row), size.factors);
        Stream stream(seed, 2, 0, row);
        std::iota(proteins.begin(), proteins.end(), 0);
        const int count = std::min(kRatingsPerCompound, size.proteins);
        for (int k = 0; k < count; ++k) {
            const auto left = static_cast<std::uint64_t>(size.proteins - k);
            std::swap(proteins[static_cast<std::size_t>(k)],
                      proteins[static_cast<std::size_t>(k) + stream.bits() % left]);
        }
        for (int k = 0; k < count; ++k) {
            const std::int32_t j = proteins[static_cast<std::size_t>(k)];
            const auto protein =
                hidden(Stream(seed, 1, 1, static_cast<std::uint64_t>(j)), size.factors);
            const double product =
                std::inner_product(compound.begin(), compound.end(), protein.begin(), 0.0);
            ratings.push_back(
                {i, j, 6 + product + kNoise * stream.normal(), k % kHeldBackEach == 0 ? 1 : 0});
        }
    }
    return ratings;
}

bool write(const std::string& file, const std::vector<Rating>& ratings) {
    std::ofstream stream(file);
    char value[32];
    for (const Rating& rating : ratings) {
        std::snprintf(value, sizeof value, "%.17g", rating.value);
        stream << rating.compound << '\t' << rating.protein << '\t' << value << '\t'
               << (rating.is_held_back != 0 ? "test" : "train") << '\n';
    }
    stream.close();
    return stream.good();
}

bool read(const std::string& file, std::vector<Rating>& ratings) {
    std::ifstream stream(file);
    if (!stream) {
        return false;
    }
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        Rating rating;
        std::string part;
        if (!(words >> rating.compound >> rating.protein >> rating.value >> part) ||
            (part != "train" && part != "test") || rating.compound < 0 || rating.protein < 0) {
            return false;
        }
        rating.is_held_back = part == "test" ? 1 : 0;
        ratings.push_back(rating);
    }
    return !ratings.empty();
}

} // namespace bpmf
