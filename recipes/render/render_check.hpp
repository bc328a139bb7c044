// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/model/recipe.hpp"

namespace cybele::recipes {

/// What a definition file cannot carry, or this version cannot build yet ("not yet: …"): all at
/// once, each with its place.
void check_renderable(const Recipe& recipe, const RenderOptions& options, Faults& faults);

} // namespace cybele::recipes
