// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <sys/types.h>

namespace cybele::submission {

/// What the script of a local job would refuse on this machine when it runs: a launcher that is not
/// in PATH, mpirun of Open MPI as root without `allow-root`, a host without spark-submit (kInput,
/// all at once). What depends on an image that is not built yet is left to the script.
[[nodiscard]] Result<void>
check_here(const JobInput& input, const Environment& environment, uid_t user);

} // namespace cybele::submission
