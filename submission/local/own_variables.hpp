// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

namespace cybele::submission {

/// The variables that the batch system of a user's own script would set and that are known before
/// the job has an id; for PBS the file of nodes too, in the record. Those by which an MPI library
/// recognises an allocation of Slurm (SLURM_JOBID, node lists) are not set: there is no Slurm to
/// start its processes.
[[nodiscard]] Result<void> set_own_variables(const Submission& submission,
                                             EnvironmentMap& variables);

} // namespace cybele::submission
