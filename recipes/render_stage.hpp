// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/definition.hpp"
#include "recipes/recipe.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cybele::recipes {

/// A stage's own base, else the top level's.
[[nodiscard]] const Base& base_of(const Recipe& recipe, const StageFields& fields);
/// A stage's own MPI, else the top level's where both have the same base.
[[nodiscard]] const RecipeMpi& mpi_of(const Recipe& recipe, const StageFields& fields);

/// The header that makes a base; an empty mirror leaves `{{ mirror }}` to the builder.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> header_of(const Base& base,
                                                                         const std::string& mirror);

/// A `%post` whose body stands for itself.
[[nodiscard]] definitions::Section post_section(std::string text);

/// The package transaction, if there are any: the stage's first `%post`, before any `%files`, so
/// that its result depends on the base and the packages alone and can be kept.
void add_packages(definitions::Stage& stage,
                  const StageFields& fields,
                  const Base& base,
                  const std::vector<std::string>& more);

/// Files, then steps, each its own `%post`.
void add_content(definitions::Stage& stage,
                 const StageFields& fields,
                 const std::map<std::string, std::string>& arguments);

} // namespace cybele::recipes
