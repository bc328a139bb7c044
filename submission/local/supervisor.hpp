// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// The name of a process that follows a job (prctl(2), PR_SET_NAME).
inline constexpr const char* kSupervisorName = "cybelectl-job";

/// A process to be followed to its end, with everything that it started.
struct Supervised {
    std::vector<std::string> argv; ///< argv[0] is a path
    std::vector<std::string> variables;
    std::string directory;
    int output = -1;
    int errors = -1;
    std::optional<std::chrono::seconds> time;
    std::vector<int> cpus;         ///< its own hardware threads; none: those of this process
    std::filesystem::path attempt; ///< taken right before it begins; empty: nothing is
    int group = -1;                ///< folder of the control group that it is put into; -1: none
};

struct SupervisedEnd {
    enum class Why { kItself, kTimeLimit, kCancelled };
    Why why = Why::kItself;
    int code = 0;
    int signal = 0;
};

/// Starts the process in a session of its own and waits. At the time limit, or when TERM, INT or
/// HUP comes to this process, its whole session gets TERM, and KILL ten seconds later. What it left
/// running is ended too: this process adopts it (PR_SET_CHILD_SUBREAPER). Supervisors of other
/// jobs, which a job that submits may have started, are let alone.
[[nodiscard]] Result<SupervisedEnd> supervise(const Supervised& supervised);

} // namespace cybele::submission
