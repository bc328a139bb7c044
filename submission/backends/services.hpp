// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "submission/backends/backend_request.hpp"
#include "submission/backends/connection.hpp"

#include <memory>
#include <string>

namespace cybele::submission {

/// Slurm's own REST service (Slurm 20.11 and later).
[[nodiscard]] std::unique_ptr<Backend> slurmrestd_backend(Connection connection,
                                                          const BackendRequest& request);

/// rimrock, the REST service that hpc-connector used: its jobs are handed over by it, and what
/// becomes of them the scheduler's `commands` say, which it runs too, since it says FINISHED of a
/// job that it does not find, and RUNNING of one that was cancelled.
[[nodiscard]] std::unique_ptr<Backend> rimrock_backend(Connection connection,
                                                       std::unique_ptr<Commands> commands,
                                                       const BackendRequest& request);

/// A script as rimrock gets it, which hands on no variables and no comment: with lines of Slurm for
/// both, which are comments to others, and the variables behind the directives.
[[nodiscard]] std::string
rimrock_script(const Submission& submission, std::string script, bool is_slurm);

} // namespace cybele::submission
