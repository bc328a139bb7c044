// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/asked.hpp"
#include "submission/backends/connection.hpp"
#include "submission/submit/submit.hpp"
#include "support/error.hpp"
#include "support/signals.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace cybele::submission {

/// Where a mirror's configuration stands: hpc-connector's two ConfigMaps as folders, a key a file.
struct MirrorFiles {
    std::filesystem::path backend; ///< `name` (SSH, Slurmrestd, Rimrock, Commands), `configuration`
    std::filesystem::path job;     ///< `job`, `monitoring_period`
};

/// A batch job that is mirrored: one script, submitted as it is.
struct Mirror {
    Connection connection;
    std::string scheduler; ///< a dialect's name
    std::string script;
    std::string name;
    std::filesystem::path workdir; ///< absolute, on the cluster
    std::string standard_output;   ///< with a Job's patterns
    std::string standard_error;
    std::chrono::milliseconds longest{30'000}; ///< between two questions
    std::uint32_t nodes = 1;
    std::uint32_t tasks = 1;
    std::uint32_t cpus = 1;
    std::string array;
};

/// Reads and checks the configuration: `configuration` is {host, url, scheduler, workdir,
/// token-command}, `job` is {script, name, workdir, host}, both JSON. All faults at once (kInput).
[[nodiscard]] Result<Mirror> read_mirror(const MirrorFiles& files);

/// A UUID that is the same for the same text: a pod's successor finds the job by it.
[[nodiscard]] std::string uuid_of(std::string_view identity);

/// Takes up the job with this UUID where the scheduler knows it, or its record does; else submits
/// it, once.
[[nodiscard]] Result<Submitted> begin_mirror(JobContext& context,
                                             const Mirror& mirror,
                                             const std::string& uuid,
                                             const OnWord& on_word,
                                             const SignalWatch& signals);

} // namespace cybele::submission
