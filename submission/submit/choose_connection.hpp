// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/connection.hpp"
#include "submission/submit/job_input.hpp"
#include "support/error.hpp"

#include <string>

namespace cybele::submission {

/// What a command line says of how the batch system is reached.
struct ConnectionChoice {
    std::string host;          ///< a login, or the text of a connection; empty: the Site's
    std::string token_command; ///< of a service; empty: the Site's
};

/// How the batch system of a Job is reached: as the choice says, else as its Site says, else by the
/// commands of this machine. A Site's `ssh` and `token-command` count only from a file that nobody
/// else can have written (kEnvironment), unless the choice gives them.
[[nodiscard]] Result<Connection> choose_connection(const JobInput& input,
                                                   const ConnectionChoice& choice = {});

} // namespace cybele::submission
