// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <string>
#include <vector>

namespace cybele::host {

/// One line of `doctor`.
struct Finding {
    enum class State { kOk, kNote, kMissing };
    State state = State::kOk;
    std::string subject;    ///< "user namespaces", "mpirun", …
    std::string what;       ///< what was found
    std::string follows;    ///< what that means for the user; empty when all is well
    std::string help;       ///< how to mend it
    bool is_needed = false; ///< without it the main job cannot work here
};

/// What this machine can do, found by trying; nothing is changed.
[[nodiscard]] std::vector<Finding> examine_host(const Environment& environment);

/// Whether build, exec and a local MPI job can work.
[[nodiscard]] bool can_do_main_job(const std::vector<Finding>& findings);

} // namespace cybele::host
