// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/model/recipe.hpp"
#include "support/error.hpp"

#include <vector>

namespace cybele::pipeline {

/// Files of this machine that the Recipe names and that are not there: `files.from` without a
/// pattern, a `base.image` that is a path, `base.key`; each a fault (kInput) at its place. Relative
/// paths begin at the Recipe's folder.
[[nodiscard]] std::vector<Fault> missing_inputs(const recipes::Recipe& recipe);

/// The warnings of all variants of a Recipe, those that several have once. What is missing is one
/// of them: it may be there where the image is built.
[[nodiscard]] std::vector<Fault> warnings_of(const std::vector<recipes::Recipe>& variants);

} // namespace cybele::pipeline
