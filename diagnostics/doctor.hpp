// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::diagnostics {

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

/// A folder in which this program keeps something of its own.
struct KeptFolder {
    std::string_view subject; ///< "journal"
    std::filesystem::path path;
    std::string_view variable; ///< that names another: "CYBELE_STATE_DIR"
    std::string_view follows;  ///< where nothing can be written there
    bool is_needed = true;     ///< by the main job
};

/// What doctor is told of this call.
struct DoctorInput {
    Environment environment;
    std::filesystem::path program; ///< this program, beside which its helpers lie
    std::vector<KeptFolder> folders;
    std::string mirror; ///< by the settings; empty: the machine's own
};

/// What this machine can do, found by trying; nothing is changed, and nothing outside of it is
/// asked but its batch system (five seconds a question).
[[nodiscard]] std::vector<Finding> examine_host(const DoctorInput& input);

/// Whether build, exec and a local MPI job can work.
[[nodiscard]] bool can_do_main_job(const std::vector<Finding>& findings);

} // namespace cybele::diagnostics
