// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/local/scheduler.hpp"
#include "support/environment.hpp"

namespace cybele::jobs {

/// What a supervisor does, in a process that was forked for it: runs its part of a job to the end,
/// writes the end down, takes a turn of the scheduler, ends. Processes forked by that turn go on
/// here with theirs. Every descriptor but the standard ones, which become /dev/null, is closed.
[[noreturn]] void serve(Errand errand, const LocalScheduler& scheduler);

/// The environment of who submits, kept in the record for the time when the job starts: private
/// (0600), removed with the job's end.
[[nodiscard]] Result<void> keep_environment(const std::filesystem::path& record,
                                            const EnvironmentMap& environment);
/// Brings it onto the disk: for a job that waits, and may wait when the machine stops.
void secure_environment(const std::filesystem::path& record);
[[nodiscard]] Result<EnvironmentMap> kept_environment(const std::filesystem::path& record);

} // namespace cybele::jobs
