// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/finding.hpp"
#include "definitions/grammar/header.hpp"
#include "definitions/grammar/scan.hpp"

#include <optional>
#include <string>

namespace cybele::definitions {

/// A section as the parser reads it. `argument` is what follows the first space of the section
/// line, byte for byte; nothing where there is no space.
struct ParsedSection {
    Section section;
    std::optional<std::string> argument;
};

/// The section of a token, or nothing (with a finding) where its name is unknown or its body unfit.
/// `is_first`: nothing stands before it in its stage; Apptainer strips such a section's blanks.
[[nodiscard]] std::optional<ParsedSection>
parse_section(const Token& token, bool is_first, const Origin& origin, Findings& findings);

} // namespace cybele::definitions
