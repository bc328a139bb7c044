// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/finding.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::definitions {

struct LintOptions {
    ParseOptions parse;
    /// Whether a source of %files exists; unset: not asked.
    std::function<bool(const std::string& path)> has_source;
    std::string folder; ///< where relative sources begin, for the message; empty: not said
    /// shellcheck's path; unset: scripts are not given to it.
    std::optional<std::filesystem::path> shellcheck;
};

/// What is wrong with a definition file, ordered by line and column.
struct LintReport {
    bool is_accepted = false; ///< by the dialect's own parser
    int stopped_by = 0;       ///< the signal that ended shellcheck, and so the check; 0: none
    std::vector<Finding> findings;

    [[nodiscard]] std::size_t errors() const;
    [[nodiscard]] std::size_t warnings() const;
    /// Whether an error or a warning is among them.
    [[nodiscard]] bool is_clean() const;
};

/// Reads a definition as the dialect does and judges what it read by the rules. Rules that the file
/// passes over by a comment are left out; refusals never are.
[[nodiscard]] LintReport
lint_definition(std::string_view text, std::string_view file, const LintOptions& options);

} // namespace cybele::definitions
