// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/tree.hpp"
#include "definitions/lint/lint.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The forms in which `def check` and `def print` write.
namespace cybele::definitions {

/// What was found in one file.
struct FileReport {
    std::string file;
    LintReport report;
};

/// As a person reads it: each finding as faults are shown, with its rule behind the severity.
[[nodiscard]] std::string report_text(const LintReport& report, bool is_coloured);
/// {"format":1,"files":[{"file","accepted","findings":[{rule, severity, message, line, …}]}]}
[[nodiscard]] std::string report_json(const std::vector<FileReport>& files);
/// SARIF 2.1.0, for code review.
[[nodiscard]] std::string report_sarif(const std::vector<FileReport>& files);

/// The tree as JSON; texts that are not UTF-8 are given as "base64" instead of "text".
[[nodiscard]] std::string tree_json(const Tree& tree);

} // namespace cybele::definitions
