// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/substitute.hpp"
#include "definitions/lint/context.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

void bytes(Lint& lint) {
    bool has_carriage = false;
    for (std::size_t i = 0; i < lint.lines().size(); ++i) {
        const std::string_view line = lint.lines()[i];
        const std::size_t carriage = line.find('\r');
        if (carriage != std::string_view::npos && !has_carriage) {
            has_carriage = true;
            lint.tell("CD010", {i + 1, carriage + 1}, "this line holds a carriage return");
        }
        if (const std::size_t nul = line.find('\0'); nul != std::string_view::npos) {
            lint.tell("CD011", {i + 1, nul + 1}, "this line holds a NUL byte");
        }
    }
}

/// Templates of which Apptainer's treatment surprises: names that are defined, but stay since a
/// `#` stands before them in code, or are replaced although the line is a comment.
void templates(Lint& lint) {
    if (!has(lint.options().parse.dialect, Feature::kCommentsKeepTemplate)) {
        return;
    }
    for (std::size_t i = 0; i < lint.lines().size(); ++i) {
        const std::string_view line = lint.lines()[i];
        if (line.find("{{") == std::string_view::npos) {
            continue;
        }
        for (const TemplateUse& use : template_uses(line)) {
            const bool is_comment = trim(line).starts_with('#');
            if (use.is_commented && !is_comment) {
                lint.tell("CD003",
                          {i + 1, use.begin + 1},
                          fmt::format("'{{{{ {} }}}}' is not replaced, for a # stands before it",
                                      use.name));
            } else if (!use.is_commented && is_comment && !trim(line).starts_with("#!")) {
                lint.tell(
                    "CD003",
                    {i + 1, use.begin + 1},
                    fmt::format("'{{{{ {} }}}}' is replaced although this is a comment", use.name),
                    "only a # with another character between it and the braces is a comment "
                    "to Apptainer",
                    "put a blank after the #");
            }
        }
    }
}

} // namespace

void lint_text(Lint& lint) {
    bytes(lint);
    templates(lint);
}

} // namespace cybele::definitions
