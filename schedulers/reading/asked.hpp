// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_script.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::schedulers {

/// Something that a script asks for and that a Job has no field for, or that cannot be read.
struct Remainder {
    std::size_t line = 0;
    std::string text; ///< as written
    std::string because;
    std::string help;
};

/// Why a remainder is one, where its text says it all.
inline constexpr std::string_view kNoField = "a Job has no field for it";

/// What a script asks its batch system for, in a Job's words. Sizes are bytes.
struct Asked {
    std::string name;
    std::uint64_t nodes = 1;
    std::uint64_t tasks_per_node = 1;
    std::uint64_t tasks = 0; ///< 0: the product
    std::uint64_t cpus_per_task = 1;
    std::optional<std::uint64_t> memory_per_node;
    std::optional<std::uint64_t> memory_per_cpu;
    std::uint64_t gpus_per_node = 0;
    std::string gpu_type;
    std::optional<std::chrono::seconds> time;
    bool exclusive = false;
    std::vector<std::string> constraint;
    std::string queue;
    std::string account;
    std::string qos;
    std::string array;
    std::vector<std::pair<std::string, std::string>> after; ///< id, when
    std::string mail_to;
    std::vector<std::string> mail_on;
    std::string signal;
    std::optional<std::chrono::seconds> signal_before;
    std::string standard_output; ///< with a Job's patterns; empty: the batch system's
    std::string standard_error;
    std::string workdir;
    std::map<std::string, std::string> options;   ///< field of a Job → value, as written
    std::map<std::string, std::string> variables; ///< that the directives set

    std::vector<Remainder> remainders;
    std::map<std::string, std::size_t> lines; ///< field of a Job ("resources.time") → line
};

/// Reads the directives' values; what has no field in a Job, and what no version of the batch
/// system would take, is a remainder with its line. Pure.
[[nodiscard]] Asked what_is_asked(const BatchScript& script);

/// sbatch's time: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S (sbatch(1), --time).
[[nodiscard]] std::optional<std::chrono::seconds> slurm_time(std::string_view text);
/// PBS's: seconds, M:S, H:M:S, and TORQUE's D:H:M:S.
[[nodiscard]] std::optional<std::chrono::seconds> pbs_time(std::string_view text);
/// Slurm's memory in bytes: a bare number is MB, `1.5G` is none (launch.md, 1.2).
[[nodiscard]] std::optional<std::uint64_t> slurm_memory(std::string_view text);
/// PBS's: a bare number is bytes; suffixes kb, mb, gb, tb and words.
[[nodiscard]] std::optional<std::uint64_t> pbs_memory(std::string_view text);

} // namespace cybele::schedulers
