// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cybele::recipes {

using Values = std::map<std::string, std::string>;

/// Parses a Recipe and merges its `include`s into it; marks tell which file a value stands in.
/// Refused: includes that cannot be read, that are no Recipes, that form a cycle (kInput, the way
/// round in the message).
[[nodiscard]] Result<yaml::Document> read_merged(std::string text,
                                                 const std::filesystem::path& file);

/// One combination of a matrix.
struct Variant {
    std::string name; ///< NAME-V1-V2; NAME where there is no matrix
    Values values;    ///< of the matrix
};

/// The combinations of `matrix` without the excluded ones, in the order of its sorted keys; one
/// with no values where there is no matrix. Faults of the matrix are added.
[[nodiscard]] std::vector<Variant> variants_of(const yaml::Document& document, Faults& faults);

/// The values of `args` with those given in their place. Faults: an argument that the Recipe does
/// not have (kUsage), a name in both `args` and `matrix`.
[[nodiscard]] Result<Values> argument_values(const yaml::Document& document,
                                             const Values& arguments);

/// The fields of a Recipe with its includes: name → value as normalised(), sorted by name.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> fields_of(const yaml::Node& root);

/// What of them determines packages, with the values of the arguments that it uses: one text, the
/// same for all Recipes that install the same.
[[nodiscard]] std::string package_fields_of(const yaml::Node& root, const Values& arguments);

/// The same by field ("base", "packages.system", "args.release"): name → value, normalised.
/// Sorted.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
package_parts_of(const yaml::Node& root, const Values& arguments);

/// Merges the items of `when` that match into the tree and removes `when`. The tree is substituted
/// already. Faults: an `on` that names neither `distribution`, `arch` nor a value.
void apply_conditions(yaml::Document& document, const Values& values, Faults& faults);

} // namespace cybele::recipes
