// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/import/definition.hpp"

namespace cybele::recipes::definition_file {

/// The header of a stage: its base, and packages that its bootstrap includes. `lines` are those
/// before its first section.
void carry_header(State& state, const definitions::Stage& stage, Lines lines);

} // namespace cybele::recipes::definition_file
