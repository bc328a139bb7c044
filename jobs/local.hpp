// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/record.hpp"
#include "launchers/job.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace cybele::jobs {

/// A job that the embedded scheduler runs on this machine, with its record folder made.
struct LocalJob {
    std::string uuid;
    std::string id; ///< the native id, what %j stands for: the UUID's first eight characters
    std::filesystem::path workdir;
    std::filesystem::path record; ///< WORKDIR/.cybelectl/UUID, 0700
    std::filesystem::path script;
    std::filesystem::path standard_output;
    std::filesystem::path standard_error;
    std::optional<std::chrono::seconds> time;
};

/// Writes the record folder (job.json, script) and opens nothing else. `program` is this program's
/// path.
[[nodiscard]] Result<LocalJob> prepare_local(const launchers::Job& job, const std::string& script);

/// Runs the job to its end in this process: output to its files, TERM then KILL (10 s later) at the
/// time limit or when this process is told to end, no process of it left, exit.json written. Gives
/// how it ended.
[[nodiscard]] Result<ExitRecord> run_local(const LocalJob& job,
                                           const Environment& environment,
                                           const std::filesystem::path& program_folder);

/// The same in a process of its own that outlives this one.
[[nodiscard]] Result<void> start_local(const LocalJob& job,
                                       const Environment& environment,
                                       const std::filesystem::path& program_folder);

/// `%x`, `%j`, `%%` of an output pattern (sbatch's spelling).
[[nodiscard]] std::string
expand_pattern(const std::string& pattern, const std::string& name, const std::string& id);

} // namespace cybele::jobs
