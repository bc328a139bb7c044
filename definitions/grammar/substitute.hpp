// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/dialect.hpp"
#include "definitions/grammar/finding.hpp"
#include "definitions/grammar/scan.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::definitions {

/// What `{{ name }}` may stand for.
struct TemplateValues {
    const BuildArguments& given;    ///< for all stages
    const BuildArguments& defaults; ///< of this stage's %arguments
    Dialect dialect = kApptainer;
};

/// Replaces `{{ name }}` in a stage: a value given to the build, else the default of %arguments; a
/// value may use other arguments, one after the other. A template that has a `#` and one more
/// character (not `!`) before it on its line is left, as Apptainer leaves comments. Undefined
/// names are findings (CD021). `used` gets the names that were replaced.
[[nodiscard]] StageText substitute(const StageText& stage,
                                   std::string_view file,
                                   const TemplateValues& values,
                                   std::set<std::string>& used,
                                   Findings& findings);

/// One `{{ name }}` in a text, by the offsets of its braces.
struct TemplateUse {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string name;
    bool is_commented = false; ///< Apptainer's newest releases leave it alone
};
/// The templates of a text, from left to right.
[[nodiscard]] std::vector<TemplateUse> template_uses(std::string_view text);

} // namespace cybele::definitions
