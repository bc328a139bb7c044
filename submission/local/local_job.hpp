// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "submission/backends/backend.hpp"
#include "submission/records/record.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cybele::submission {

/// A job that the embedded scheduler runs on this machine, with its record folder made, which
/// `record` names by its descriptor (RecordFolder::place()): one part of what was submitted, where
/// that is an array.
struct LocalJob : Submission {
    std::string id;          ///< what %j stands for
    std::int64_t index = -1; ///< of an array's element; -1: no array
    std::int64_t attempt = 1;
    std::vector<int> cpus; ///< its own hardware threads; none: all that there are
    std::vector<int> gpus;
    std::uint64_t memory = 0;            ///< bytes that it asks for; 0: it says nothing
    std::filesystem::path script_record; ///< where the script itself writes how it ended
    std::vector<std::string> command;    ///< that runs a script of the user's own; none: bash
};

/// Runs the job to its end in this process, pinned to its cores: output to its files, TERM then
/// KILL (10 s later) at the time limit or when this process is told to end, no process of it left,
/// exit.json written. Gives how it ended.
[[nodiscard]] Result<ExitRecord> run_local(const LocalJob& job, const EnvironmentMap& environment);

} // namespace cybele::submission
