// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "support/error.hpp"

#include <map>
#include <span>
#include <string>

namespace cybele::submission {

/// An option of sbatch that replaces a field of the Job for one submission.
struct OptionOverride {
    const char* names;        ///< `-G,--gpus`
    const char* option;       ///< `--gpus`
    const char* field;        ///< `resources.gpus`
    const char* description;  ///< for the help
    const char* example = ""; ///< a value of it, for errors
    bool is_flag = false;
};
[[nodiscard]] std::span<const OptionOverride> option_overrides();

/// What was given, by the option's long name; a flag has the text `true`.
using GivenOptions = std::map<std::string, std::string>;

/// Replaces the fields; a value that cannot be read is kUsage.
void apply_options(const GivenOptions& given, launchers::Job& job, Faults& faults);

/// Whether words of the command line are given to the Job's script or to its image's runscript.
[[nodiscard]] bool takes_arguments(const launchers::Job& job);

/// The help for words after `--` of a Job that takes none: its command with them.
[[nodiscard]] std::string help_with_arguments(const launchers::Job& job,
                                              const std::vector<std::string>& words);

} // namespace cybele::submission
