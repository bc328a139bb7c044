// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "covering_array.hpp"
#include "images/inspection/facts.hpp"
#include "support/error.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cybele::pairs {

/// One choice of a value for each of job_factors(), as the documents that it makes.
struct Cell {
    Row row;
    std::string target; ///< a dialect or a kind of object
    std::string dialect;
    nlohmann::ordered_json job;
    nlohmann::ordered_json site; ///< null: no Site
    std::string job_text;
    std::string site_text;
    /// Line of a document → the factors that are written there.
    std::map<std::size_t, std::vector<std::size_t>> job_lines;
    std::map<std::size_t, std::vector<std::size_t>> site_lines;
    std::optional<images::ImageFacts> facts;

    [[nodiscard]] bool is_object() const {
        return target != dialect;
    }
};

[[nodiscard]] Cell cell_of(const Row& row);

struct CellScript {
    std::string text;   ///< the script, or the yaml of an object
    std::string script; ///< the script, which an object holds
    std::vector<Fault> notes;
};

/// What a Cell becomes: its script or object, or why it is refused.
[[nodiscard]] Result<CellScript> render_cell(const Cell& cell);

/// How many combinations of values there are, and what became of them.
struct Meetings {
    std::size_t all = 0;
    std::size_t in_rendered = 0; ///< met in a cell that renders
    std::size_t of_refused = 0;  ///< with a value that nothing renders with
    std::size_t refused = 0;     ///< refused in the least cell that has them
};

/// The cells of the covering array, and for each that is refused those that the refusals lead to:
/// what stands at the place of a fault is taken out until nothing is refused. Combinations that
/// met in refused cells only follow, in the least cells that have them.
struct Cells {
    std::vector<Cell> rendered;
    std::vector<CellScript> scripts; ///< of `rendered`
    std::vector<Cell> refused;
    std::vector<std::vector<Fault>> faults; ///< of `refused`
    std::size_t rows = 0;
    std::size_t values = 0;         ///< of all factors
    std::size_t refused_values = 0; ///< that nothing renders with
    Meetings pairs;
    Meetings triples; ///< of the strong factors
};
[[nodiscard]] const Cells& job_cells();

/// The numbers of values of job_factors(), and the row of a target's base values.
[[nodiscard]] const std::vector<std::size_t>& factor_sizes();
[[nodiscard]] Row base_row(std::size_t target);
[[nodiscard]] std::size_t factor_named(std::string_view document, std::string_view path);
/// Factors of which each three values meet: launch kind, GPUs, node file, array, output.
[[nodiscard]] std::vector<std::size_t> strong_factors();

/// The factors that are written at the places of the faults.
[[nodiscard]] std::vector<std::size_t> factors_at(const Cell& cell,
                                                  const std::vector<Fault>& faults);

/// Adds the least cells for what met in refused cells only.
void meet_in_least_cells(Cells& cells);

/// The value of a factor in a cell, by its path in the Job or the Site; null where it is not
/// written.
[[nodiscard]] nlohmann::ordered_json value_at(const nlohmann::ordered_json& document,
                                              const std::string& path);

} // namespace cybele::pairs
