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

/// A job that the embedded scheduler runs on this machine, with its record folder made: one part of
/// what was submitted, where that is an array.
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

/// Writes the record folder (job.json, script) and opens nothing else.
[[nodiscard]] Result<LocalJob> prepare_local(const launchers::Job& job, const std::string& script);

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

/// Runs the job to its end in this process, pinned to its cores: output to its files, TERM then
/// KILL (10 s later) at the time limit or when this process is told to end, no process of it left,
/// exit.json written. Gives how it ended.
[[nodiscard]] Result<ExitRecord> run_local(const LocalJob& job, const EnvironmentMap& environment);

/// `%x`, `%j`, `%%` of an output pattern (sbatch's spelling), and `%a` where an index is given.
[[nodiscard]] std::string expand_pattern(const std::string& pattern,
                                         const std::string& name,
                                         const std::string& id,
                                         const std::string& index = {});

} // namespace cybele::submission
