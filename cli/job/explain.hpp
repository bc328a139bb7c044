// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

namespace cybele::cli {

/// Below `job`: what a batch script, or a job's output, says.
void install_job_explain(CLI::App& job, Session& session);
/// Below `job`: a Job from what is none.
void install_job_convert(CLI::App& job, Session& session);
void install_job_new(CLI::App& job, Session& session);

} // namespace cybele::cli
