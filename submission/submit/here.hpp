// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <sys/types.h>

namespace cybele::submission {

/// What a job that is submitted with this machine's commands would refuse when it runs (kInput, all
/// at once): mpirun of Open MPI as root without `allow-root`; of a local job a launcher, runtime or
/// spark-submit that is not in PATH, libraries that its program or the host's MPI lacks, sources of
/// binds and files of secrets that are not there. What modules, set-up and inputs can bring, and
/// what depends on an image that is not built yet, is left to the script.
[[nodiscard]] Result<void>
check_here(const JobInput& input, const Environment& environment, uid_t user);

} // namespace cybele::submission
