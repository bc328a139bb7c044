// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "submission/backends/backend_request.hpp"
#include "submission/backends/connection.hpp"

#include <memory>

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

} // namespace cybele::submission
