// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "schedulers/reading/batch_script.hpp"

namespace cybele::cli {

/// Below `job`: what a batch script, or a job's output, says.
void install_job_explain(CLI::App& job, Session& session);
/// Below `job`: a Job from what is none.
void install_job_convert(CLI::App& job, Session& session);
void install_job_new(CLI::App& job, Session& session);

/// The option `--scheduler` of those that read a script: by whose rules it is read.
void add_script_reader(CLI::App& verb, std::string& scheduler);
/// Its value; kNone: by the script's directives.
[[nodiscard]] schedulers::Reader reader_of(const std::string& scheduler);

} // namespace cybele::cli
