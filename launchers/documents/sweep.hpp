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
    std::vector<std::uint32_t> numbers;         ///< of the rows that were kept; empty: all rows

    /// How many elements its array has.
    [[nodiscard]] std::size_t elements() const;

    /// The number of the row at that place, by which its records and outputs are known.
    [[nodiscard]] std::uint32_t number_at(std::size_t place) const {
        return numbers.empty() ? static_cast<std::uint32_t>(place) : numbers[place];
    }
};

/// More rows are not read.
inline constexpr std::size_t kMostRows = 10'000;

/// The variable of a value in the script and in the program: `CYBELE_SWEEP_learning_rate`.
[[nodiscard]] std::string variable_of_sweep(std::string_view name);

/// The field `sweep`: rows of its lists or of its table, and the array of the Job that follows from
/// them. Its faults are those of `reading`.
void read_sweep(document::Reading& reading, const document::View& root, Job& job);

/// Only these rows of a packed sweep, in order, under the numbers that they have.
void keep_rows(Job& job, const std::vector<std::uint32_t>& numbers);

/// A table of comma-separated values: its first line has the names. A fault names its line.
[[nodiscard]] Result<Sweep> read_sweep_table(std::string_view text, const std::string& file);

} // namespace cybele::launchers
