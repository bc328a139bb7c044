// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::templates {

/// A piece of a template.
struct Node {
    enum class Kind {
        kText,     ///< as it is
        kWord,     ///< `{{name}}`
        kRaw,      ///< `{{{name}}}` or `{{&name}}`
        kSection,  ///< `{{#name}} … {{/name}}`
        kInverted, ///< `{{^name}} … {{/name}}`
        kPartial,  ///< `{{>name}}`
        kComment,  ///< `{{! … }}`
    };
    Kind kind = Kind::kText;
    std::string_view text; ///< the text, or the name; a part of the template's
    std::size_t line = 0;  ///< of the tag
    std::vector<Node> inside;
};

/// The pieces of a template, whose first line is left out: it names the set. Kept are mustache's
/// variables, sections, partials and comments; other delimiters are refused. kInput with the line.
[[nodiscard]] Result<std::vector<Node>> parse(const std::string& file, std::string_view text);

/// A fault of a template; line 0: not known.
[[nodiscard]] Fault template_fault(const std::string& file, std::size_t line, Problem problem);

} // namespace cybele::templates
