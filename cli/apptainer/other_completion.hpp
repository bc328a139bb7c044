// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>

namespace cybele::cli {

/// The completion script for `program`, by the name of Apptainer, with its commands and their
/// flags. For any other word than a shell it is the help. kEnvironment for PowerShell.
[[nodiscard]] Result<std::string> completion_of(const std::string& program,
                                                const std::string& shell);

} // namespace cybele::cli
