// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/pack/phases.hpp"

#include <string>

namespace cybele::builder {

/// The value of each phase of a build in one line of JSON, for those who look for a mistake:
/// `build -vv` prints them. No other program reads these lines; their form may change.
[[nodiscard]] std::string print_json(const BuildPlan& plan);
[[nodiscard]] std::string print_json(const BasedBuild& build);
[[nodiscard]] std::string print_json(const BuiltTrees& trees);
[[nodiscard]] std::string print_json(const PackedImage& image);
[[nodiscard]] std::string print_json(const SignedImage& image);
[[nodiscard]] std::string print_json(const BuildResult& result);

} // namespace cybele::builder
