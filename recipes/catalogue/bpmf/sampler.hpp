// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ratings.hpp"

#include <cstdint>
#include <vector>

namespace bpmf {

struct Settings {
    int factors = 8;
    int iterations = 20;
    int burn_in = 5; ///< iterations whose predictions do not count
    std::uint64_t seed = 1;
};

struct Outcome {
    double error = 0;       ///< root of the mean squared error of what was held back
    std::uint64_t hash = 0; ///< of both factor matrices, bit for bit
};

/// Gibbs sampling of both factor matrices by all ranks of MPI_COMM_WORLD, which have the same
/// ratings. Each rank samples a block of rows; hyper-parameters are drawn from the whole matrix on
/// each rank alike: the outcome, the same on each rank, does not depend on their number.
Outcome factorise(const std::vector<Rating>& ratings, const Settings& settings);

} // namespace bpmf
