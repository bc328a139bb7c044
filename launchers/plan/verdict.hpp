// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/mpi/judge.hpp"
#include "launchers/plan/plan.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::launchers {

/// How sure a launch is before it is submitted.
enum class Confidence {
    kWorks,
    kWorksWithOptions,
    kAborts,
    kSingletons,
    kGuarded,    ///< not known, but the guard will tell when the job starts
    kUnguarded,  ///< not known, and nothing will tell: it cannot be guarded
    kNotChecked, ///< the Job's own script starts the ranks
};

/// What tables say of a launch: the Site's facts beside the image's, nothing is run.
struct LaunchVerdict {
    Confidence confidence = Confidence::kWorks;
    std::string launch;                 ///< `4 ranks on 2 nodes by mpirun of Open MPI`
    std::string host;                   ///< what is known of the hosts
    std::string image;                  ///< what is known of the image
    std::string guard;                  ///< what it asks, or why there is none
    compatibility::Judgement judgement; ///< no rules where there is nothing to judge
};

/// "works", "works with options", "aborts", "starts N jobs of one rank", "not known, but guarded",
/// "cannot be guarded", "not checked: …".
[[nodiscard]] std::string_view sureness_text(Confidence confidence);

/// The plan must have been made from the same input. Launches without MPI work as far as this can
/// tell; one whose script calls a launcher itself is not checked.
[[nodiscard]] LaunchVerdict judge_launch(const PlanInput& input, const LaunchPlan& plan);

/// The lines that `job check` prints: each rule with where it comes from and its name in
/// docs/reference/mpi.md.
[[nodiscard]] std::string print_verdict(const LaunchVerdict& verdict);

} // namespace cybele::launchers
