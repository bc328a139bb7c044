// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/submit/job_input.hpp"
#include "support/error.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace cybele::cli {

/// What the tables say of a Job's launch, as text and as a JSON object.
struct JobVerdict {
    std::string text;
    bool works = false;
    bool is_checked = true; ///< false: the Job's own script starts the ranks
    nlohmann::ordered_json json;
};

[[nodiscard]] Result<JobVerdict> job_verdict(const submission::JobInput& input);

} // namespace cybele::cli
