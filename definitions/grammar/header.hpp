// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/dialect.hpp"
#include "definitions/grammar/finding.hpp"
#include "definitions/grammar/scan.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::definitions {

/// Where a piece of a stage lies in the user's file.
struct Origin {
    std::string_view file;
    const StageText* stage = nullptr;
    Dialect dialect = kApptainer;

    [[nodiscard]] Fault fault(std::size_t index, std::string_view line) const {
        return fault_at(file, stage->line(index), line);
    }
};

/// Reads `key: value` lines into the stage's header. `#` cuts a value anywhere; a value that ends
/// in `\` goes on in the next line without its blanks; on the last line it drops the key, as
/// Apptainer does. Where that panics (a comment or blank line after a continuation), a fault.
void parse_header(const Token& token, const Origin& origin, Stage& stage, Findings& findings);

} // namespace cybele::definitions
