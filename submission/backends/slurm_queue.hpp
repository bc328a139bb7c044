// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::submission {

/// The columns of `squeue -O` for the jobs of all users. Their widths are fixed: a job's comment,
/// which its owner writes, cannot look like the line of another job.
[[nodiscard]] std::string squeue_columns_of_all();

/// Reads such a listing. A job whose comment contains a line end is there, without a UUID.
[[nodiscard]] std::vector<JobStatus> read_squeue_of_all(std::string_view text);

} // namespace cybele::submission
