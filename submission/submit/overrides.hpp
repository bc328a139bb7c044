// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "submission/submit/option_overrides.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// sbatch's letters on the command line; each replaces a field of the Job.
struct Overrides {
    std::string nodes;
    std::string tasks;
    std::string tasks_per_node;
    std::string cpus_per_task;
    std::string time;
    std::string queue;
    std::string account;
    std::string name;
    std::string standard_output;
    std::string standard_error;
    std::optional<std::string> array; ///< as the Job's field
    std::string rows;                 ///< only these of a packed sweep: `3,17`; empty: all
    std::string
        dependency; ///< as sbatch's: afterok:ID[:ID…][,TYPE:ID…]; a name may stand for an ID
    bool allow_root = false;
    GivenOptions options;               ///< further options of sbatch, by their long names
    std::vector<std::string> arguments; ///< of a batch launch, in place of the Job's
};

/// Puts them into the Job; what cannot be read is a fault.
void apply_overrides(const Overrides& overrides, launchers::Job& job, Faults& faults);

} // namespace cybele::submission
