// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::document {
class Reading;
class View;
} // namespace cybele::document

namespace cybele::launchers {

struct Job;

/// The runs of a Job with `sweep`: a row of values for each.
struct Sweep {
    std::vector<std::string> names;
    std::vector<std::vector<std::string>> rows; ///< values in the order of the names
    std::uint32_t pack = 0;                     ///< rows of one element; 0: a row is an element
    std::uint32_t at_once = 0;                  ///< rows of an element side by side; 0: all

    /// How many elements its array has.
    [[nodiscard]] std::size_t elements() const;
};

/// More rows are not read.
inline constexpr std::size_t kMostRows = 10'000;

/// The variable of a value in the script and in the program: `CYBELE_SWEEP_learning_rate`.
[[nodiscard]] std::string variable_of_sweep(std::string_view name);

/// The field `sweep`: rows of its lists or of its table, and the array of the Job that follows from
/// them. Its faults are those of `reading`.
void read_sweep(document::Reading& reading, const document::View& root, Job& job);

/// A table of comma-separated values: its first line has the names. A fault names its line.
[[nodiscard]] Result<Sweep> read_sweep_table(std::string_view text, const std::string& file);

} // namespace cybele::launchers
