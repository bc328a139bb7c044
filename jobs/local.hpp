// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/backends/backend.hpp"
#include "jobs/record.hpp"
#include "launchers/job.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

namespace cybele::jobs {

/// A job that the embedded scheduler runs on this machine, with its record folder made.
struct LocalJob : Submission {
    std::string id; ///< the native id, what %j stands for: the UUID's first eight characters
};

/// Writes the record folder (job.json, script) and opens nothing else.
[[nodiscard]] Result<LocalJob> prepare_local(const launchers::Job& job, const std::string& script);

/// The local scheduler's id of a job.
[[nodiscard]] std::string local_id(const std::string& uuid);

/// The process that follows a local job: itself alone while its id is its own, so its start time
/// and the boot are kept with the id.
struct SupervisorId {
    pid_t pid = 0;
    std::string start; ///< field 22 of /proc/PID/stat
    std::string boot;

    /// Whether this very process lives.
    [[nodiscard]] bool is_alive() const;
};
[[nodiscard]] SupervisorId id_of_process(pid_t pid);
[[nodiscard]] std::string text_of(const SupervisorId& id);
[[nodiscard]] std::optional<SupervisorId> read_process_id(const std::string& text);
/// Of the job with this record; unset: none was started.
[[nodiscard]] std::optional<SupervisorId> supervisor_of(const std::filesystem::path& record);

/// Runs the job to its end in this process: output to its files, TERM then KILL (10 s later) at the
/// time limit or when this process is told to end, no process of it left, exit.json written. Gives
/// how it ended.
[[nodiscard]] Result<ExitRecord> run_local(const LocalJob& job,
                                           const Environment& environment,
                                           const std::filesystem::path& program_folder);

/// The same in a process of its own that outlives this one. Returns when that process is there and
/// can be found again by supervisor_of().
[[nodiscard]] Result<void> start_local(const LocalJob& job,
                                       const Environment& environment,
                                       const std::filesystem::path& program_folder);

/// `%x`, `%j`, `%%` of an output pattern (sbatch's spelling).
[[nodiscard]] std::string
expand_pattern(const std::string& pattern, const std::string& name, const std::string& id);

} // namespace cybele::jobs
