// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/plan.hpp"

namespace cybele::launchers {

/// Chooses launcher, PMI and binding of an mpi launch, and judges the pair (compatibility/mpi.hpp).
void plan_mpi(const PlanInput& input, LaunchPlan& plan, Faults& faults);

/// OMP_NUM_THREADS and its kin, one value for all; placement of threads where the ranks' cores are
/// known.
void plan_threads(const PlanInput& input, LaunchPlan& plan, Faults& faults);

/// Chooses the queue and checks the Job's needs against what the Site says of it.
void check_limits(const PlanInput& input, LaunchPlan& plan, Faults& faults);

} // namespace cybele::launchers
