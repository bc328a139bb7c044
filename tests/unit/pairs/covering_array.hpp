// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace cybele::pairs {

/// A row of a covering array: for each factor the index of one of its values.
using Row = std::vector<std::size_t>;

/// Rows in which each two values of different factors meet, and each three of the factors that
/// `strong` lists. `sizes` are the numbers of values. The same input gives the same rows.
[[nodiscard]] std::vector<Row> covering_array(const std::vector<std::size_t>& sizes,
                                              const std::vector<std::size_t>& strong = {});

} // namespace cybele::pairs
