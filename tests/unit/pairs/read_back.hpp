// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_cell.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace cybele::pairs {

/// What a Job asks for, reckoned from its document by the arithmetic of docs/reference/job.md, with
/// nothing of the program's own.
struct Asked {
    std::uint64_t nodes = 1;
    std::uint64_t tasks_per_node = 1;
    std::uint64_t tasks = 1;
    std::uint64_t cpus = 1;           ///< of a task
    std::uint64_t memory_of_node = 0; ///< MiB, rounded up; 0: none
    std::uint64_t memory_of_cpu = 0;  ///< MiB, rounded up; 0: none
    bool is_memory_of_cpu = false;    ///< the Job says `memory-per-cpu`
    std::uint64_t gpus = 0;
    std::string gpu_type;
    std::string clock; ///< HH:MM:SS; empty: no limit
    std::string queue;
};
[[nodiscard]] Asked asked_by(const Cell& cell);

/// GPUs of each node, whatever field asks for them; those of a job on several nodes: 1 at least.
[[nodiscard]] std::uint64_t gpus_of_node(const Cell& cell, const Asked& asked);

/// The row of the Site for the queue that the Job is for; null: none.
[[nodiscard]] nlohmann::ordered_json queue_of(const Cell& cell);

/// The array of the Job: as it is written, or what its sweep makes; empty: none.
[[nodiscard]] std::string array_of(const Cell& cell);

/// Option (`--mem`, `-l mem`) → value.
using Directives = std::map<std::string, std::string>;

/// The directives of a script's head.
[[nodiscard]] Directives directives_of(const Cell& cell, const std::string& script);

/// What they have to be.
[[nodiscard]] Directives expected_directives(const Cell& cell);

} // namespace cybele::pairs
