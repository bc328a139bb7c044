// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <string>

namespace cybele::builder {

struct FailureShell {
    std::string terminal; ///< TERM of the user's; empty: the commands come from standard input
    bool tells_changes = false;
};

struct FailureShellEnd {
    int code = 0;        ///< of the shell
    std::string changes; ///< as commands (changes_as_commands())
};

/// Opens a shell where the last build of `request.source.file` failed: on what the step left,
/// with the variables and the folder of its script. What is changed there is forgotten at its end.
/// kInput where no failed step of this file is cached.
[[nodiscard]] Result<FailureShellEnd> open_failure_shell(const BuildRequest& request,
                                                         const FailureShell& look,
                                                         const Environment& environment);

} // namespace cybele::builder
