// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/follow/poll.hpp"
#include "submission/records/record.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace cybele::submission {

/// What a job was given and what it used, after its end; as Slurm's `seff` counts. Unset: nobody
/// measured it.
struct Usage {
    std::string source;       ///< `accounting`, `record` (the script's own), or empty
    std::int64_t seconds = 0; ///< wall time
    std::int64_t cores = 0;   ///< that it was given
    std::optional<std::int64_t> cpu_milliseconds;    ///< user and system, of all its processes
    std::optional<std::uint64_t> memory_bytes;       ///< the most at once, of all nodes
    std::optional<std::uint64_t> memory_asked_bytes; ///< of all nodes

    /// Processor time over wall time times cores, from 0 to 1 and a little.
    [[nodiscard]] std::optional<double> core_efficiency() const;
    /// Memory used over memory asked for.
    [[nodiscard]] std::optional<double> memory_efficiency() const;
};

/// What a Job asked for beyond what the journal holds, by its job.json; unset: not asked.
struct AskedResources {
    std::optional<std::uint64_t> memory_bytes; ///< of all nodes
    std::int64_t gpus = 0;                     ///< of all nodes
};

/// Reads `resources` of a job.json; a damaged one says nothing.
[[nodiscard]] AskedResources read_asked(std::string_view job_json);

/// Lays the witnesses over each other: the accounting first, the record second; a pure function.
[[nodiscard]] Usage usage_of(const Entry& entry,
                             const AskedResources& asked,
                             const std::optional<AccountedUse>& spent,
                             const std::optional<ExitRecord>& record);

struct Consumption {
    AskedResources asked;
    std::optional<Usage> used; ///< of a job that has ended
};

/// Reads the record, and asks the accounting of a job that has ended; one that is off or silent
/// leaves the record's word.
[[nodiscard]] Result<Consumption> consumption_of(JobContext& context, const Entry& entry);

} // namespace cybele::submission
