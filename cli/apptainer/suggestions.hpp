// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cybele::cli {

/// The commands that Apptainer proposes for an unknown one, in its order: those that begin with
/// `word`, and those within two edits of it, whatever the case of letters.
[[nodiscard]] std::vector<std::string> suggested_commands(const std::string& word);

} // namespace cybele::cli
