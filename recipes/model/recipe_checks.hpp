// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/model/recipe.hpp"
#include "support/document.hpp"

namespace cybele::recipes {

/// Checks of a Recipe across its fields; faults go to the reading.
void check_recipe(document::Reading& reading, const Recipe& recipe);

} // namespace cybele::recipes
