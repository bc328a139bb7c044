// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "support/error.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::definitions {

/// The normal form of a definition file: line feeds; `Bootstrap` first and known keys in their
/// usual spelling; `%name` in lower case in the first column; the lines of %files, %labels and
/// %arguments indented by four blanks; one blank line behind a header and behind these sections.
/// Scripts and %help stay byte for byte, comments stay, the order of sections stays.
/// format(format(x)) == format(x), and the meaning stays; a file that is refused is not formatted
/// (kInput, with its faults).
[[nodiscard]] Result<std::string>
format_definition(std::string_view text, std::string_view file, const ParseOptions& options = {});

/// What a definition means, stage by stage: for tests, and for the check that format makes of its
/// own work.
struct Meaning {
    std::map<std::string, std::string> header;
    std::map<std::string, std::string> scripts; ///< by section, with its argument
    std::vector<std::pair<std::string, std::pair<std::string, std::string>>> files;
    std::map<std::string, std::string> labels;
    std::map<std::string, std::string> arguments;
    friend bool operator==(const Meaning&, const Meaning&) = default;
};
[[nodiscard]] std::vector<Meaning> meaning_of(const Definition& definition);

} // namespace cybele::definitions
