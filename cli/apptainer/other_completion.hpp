// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>

namespace cybele::cli {

/// The completion script of a shell for `program`, by the name of Apptainer: its commands and their
/// flags; for a word that is no shell, the help. kEnvironment for PowerShell.
[[nodiscard]] Result<std::string> completion_of(const std::string& program,
                                                const std::string& shell);

} // namespace cybele::cli
