// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/verb_table.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// Verbs of Apptainer that are refused by name: wrong words are reported first, as there.
namespace cybele::cli {

/// kUsage for an unknown flag and for too few or too many words of the refused verb at `at`.
[[nodiscard]] Result<void>
check_refused_words(const std::vector<std::string>& words, std::size_t at, const OtherVerb& verb);

/// Removes the flags between a group and its verb, and gives the FILE of `remote --config FILE
/// add`.
[[nodiscard]] std::string take_group_file(std::vector<std::string>& words, std::size_t at);

} // namespace cybele::cli
