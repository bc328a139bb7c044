// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/definition.hpp"
#include "definitions/scan.hpp"

#include <string_view>

namespace cybele::definitions {

/// Replaces `{{ name }}` in a stage: a value given to the build, else the default of %arguments; a
/// value may use another argument, one level deep. A template that has a `#` and one more character
/// (not `!`) before it on its line is left, as the reference leaves comments. Undefined names are
/// faults.
[[nodiscard]] StageText substitute(const StageText& stage,
                                   std::string_view file,
                                   const BuildArguments& given,
                                   const BuildArguments& defaults,
                                   Faults& faults);

} // namespace cybele::definitions
