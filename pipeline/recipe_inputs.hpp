// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/model/recipe.hpp"
#include "support/error.hpp"

#include <vector>

namespace cybele::pipeline {

/// Files of this machine that the Recipe names and that are not there: `files.from` without a
/// pattern, a `base.image` that is a path, `base.key`; and wrong_inputs(). Each is a fault (kInput)
/// at its place. Relative paths begin at the Recipe's folder.
[[nodiscard]] std::vector<Fault> missing_inputs(const recipes::Recipe& recipe);

/// Inputs that are there and that no build or Lock can use: a folder as `base.image` that is no
/// image.
[[nodiscard]] std::vector<Fault> wrong_inputs(const recipes::Recipe& recipe);

/// The faults of a build, those of packages that a step did not find at the Recipe's line.
[[nodiscard]] Error at_recipe_packages(const recipes::Recipe& recipe, const Error& failed);

/// The faults of a build by a Lock: where its versions are not to be had, what to do about that.
[[nodiscard]] Error with_lock_remedy(const recipes::Recipe& recipe, const Error& failed);

/// The warnings of all variants of a Recipe, those that several have once. What is missing is one
/// of them: it may be there where the image is built.
[[nodiscard]] std::vector<Fault> warnings_of(const std::vector<recipes::Recipe>& variants);

} // namespace cybele::pipeline
