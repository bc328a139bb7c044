// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/image_plan.hpp"

#include <string>

namespace cybele::pipeline {

/// What a build knows when its source was read, in one line of JSON: `build -vv` prints it before
/// the values of the builder's phases (builder/pack/phase_json.hpp). No other program reads it; its
/// form may change.
[[nodiscard]] std::string print_json(const ImagePlan& plan);

} // namespace cybele::pipeline
