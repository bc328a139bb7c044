// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/journal/entry.hpp"
#include "submission/journal/journal.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::submission {

/// One run of a job: the job itself, an element of an array, or a row of a sweep, with everything
/// that is known of it by name, in order: job, row, parameters, state, code, wall, nodes, tasks,
/// cpus, and the `key=value` pairs that it printed; a printed key with the name of one of these and
/// another value is `printed.KEY`.
struct Run {
    std::vector<std::pair<std::string, std::string>> values;

    [[nodiscard]] std::string value(std::string_view name) const;
};

/// The runs of a job from its record folder. `elements` are its own, with their outputs.
[[nodiscard]] Result<std::vector<Run>> runs_of(const Entry& job,
                                               const std::vector<Entry>& elements);

/// The rows of a packed sweep as entries of their own, `ID-rowN`, from their records; none where
/// the job has no such rows, or its record is not here.
[[nodiscard]] std::vector<Entry> packed_rows(const Entry& job);

/// The row of a packed sweep that `ID-rowN` names; nothing where `name` is of another form; kInput
/// where no such job or row is known.
[[nodiscard]] Result<std::optional<Entry>> find_sweep_row(const Journal& journal,
                                                          const std::string& name);

/// The `key=value` pairs of an output: lines, and the words of lines of which each word is a pair;
/// of several with one key the last counts.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
printed_values(std::string_view output);

/// The names of all values, in the order of their first appearance.
[[nodiscard]] std::vector<std::string> columns_of(const std::vector<Run>& runs);

/// Comma-separated, with a line of names.
[[nodiscard]] std::string runs_csv(const std::vector<Run>& runs);

/// `x=tasks,y=wall` and, for a line per value of a third, `by=NAME`.
struct PlotChoice {
    std::string x;
    std::string y;
    std::string by;
};
[[nodiscard]] Result<PlotChoice> read_plot(const std::string& text);

/// The runs that ended well as points of a drawing, and a line through the means of their y.
[[nodiscard]] Result<std::string> runs_svg(const std::vector<Run>& runs, const PlotChoice& choice);

} // namespace cybele::submission
