// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::submission {

/// The columns that read_sacct() reads, for `sacct -P -n --noconvert -o`.
[[nodiscard]] std::string sacct_columns();

/// What sacct says of jobs and their steps, a job an AccountedUse; processor time is the job's own
/// line's, memory that of its greediest step: the most of a task times its tasks, as seff has it.
[[nodiscard]] std::vector<AccountedUse> read_sacct(std::string_view text);

/// `[DD-[HH:]]MM:SS[.mmm]` in milliseconds.
[[nodiscard]] std::optional<std::int64_t> milliseconds_of_slurm(std::string_view text);

/// `512K`, `2000M`, `1234`, in 22.05 and older with `n` or `c` (a node's, a core's) behind it.
[[nodiscard]] std::optional<std::uint64_t> bytes_of_slurm(std::string_view text);

} // namespace cybele::submission
