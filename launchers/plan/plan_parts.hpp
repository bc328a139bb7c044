// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/mpi/judge.hpp"
#include "launchers/plan/plan.hpp"

namespace cybele::launchers {

/// Chooses launcher, PMI and binding of an mpi launch, and judges the pair (launchers/mpi/mpi.hpp).
void plan_mpi(const PlanInput& input, LaunchPlan& plan, Faults& faults);

/// Puts what the Site says of its hosts beside what the image says of itself. The plan must have a
/// launcher.
[[nodiscard]] compatibility::Judgement
judge_plan(const PlanInput& input,
           const LaunchPlan& plan,
           std::vector<compatibility::Circumstance> circumstances);

/// One torchrun a node, and how many processes each starts.
void plan_torch(const PlanInput& input, LaunchPlan& plan, Faults& faults);

/// Cores and memory of Spark's workers, executors and driver: together no more than is allotted.
void plan_spark(const PlanInput& input, LaunchPlan& plan, Faults& faults);

/// Whether ranks are started by mpirun or srun and meet in one communicator.
[[nodiscard]] bool is_mpi_kind(LaunchKind kind);

/// OMP_NUM_THREADS and its kin, one value for all; placement of threads where the ranks' cores are
/// known.
void plan_threads(const PlanInput& input, LaunchPlan& plan, Faults& faults);

/// What makes a Job fit a laptop goes to the cluster with it, where each rank has cores of its own:
/// a warning where `oversubscribe` is set.
void note_oversubscription(const PlanInput& input, Faults& faults);

/// Refuses what an array's element would not be given: `@{index}` where nothing replaces it, and
/// variables of an index among words that no shell reads.
void check_index(const Job& job, Faults& faults);

/// Warns of words of `command` that only a shell would act on: `|`, `$HOME/data`, `*.txt`.
void check_words(const Job& job, Faults& faults);

/// Warns of `@{NAME}` in a script, where it stays, of variables that the sweep does not set, and of
/// parameters that nothing uses.
void check_sweep(const Job& job, Faults& faults);

/// Ways to ask for GPUs and cores that leave open what each node or task gets: a launch of ours
/// needs to know it.
void check_batch_options(const Job& job, Faults& faults);

/// Refuses a launcher, as `mpirun`, as the first word of a command that several tasks start.
void check_starter(const Job& job, Faults& faults);

/// Chooses the queue and checks the Job's needs against what the Site says of it.
void check_limits(const PlanInput& input, LaunchPlan& plan, Faults& faults);

} // namespace cybele::launchers
