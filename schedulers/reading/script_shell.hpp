// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_script.hpp"

#include <string>
#include <vector>

namespace cybele::schedulers {

/// The interpreter of the script's first line with its option, as the kernel reads it; else the
/// shell that `#PBS -S` names; else none.
[[nodiscard]] std::vector<std::string> shell_words_of(const BatchScript& script);

/// The name of that shell without its folder: `csh`; of `/usr/bin/env bash`, `bash`. Empty: none.
[[nodiscard]] std::string shell_name_of(const BatchScript& script);

/// Whether qsub of TORQUE or OpenPBS reads the script.
[[nodiscard]] bool is_of_pbs(const BatchScript& script);

/// qsub starts a script in the home directory, if no option names another one: `-d`, `-l wd` (the
/// directory of submission, at centres that have it), `-W sandbox=PRIVATE`.
[[nodiscard]] bool starts_at_home_of(const BatchScript& script);

/// `-d` and `-w` of TORQUE: both set PBS_O_WORKDIR, and qsub writes outputs without a name there.
[[nodiscard]] bool sets_submit_folder(const BatchScript& script);

/// `-W sandbox=PRIVATE` of OpenPBS: the script starts in a folder that is made for the job.
[[nodiscard]] bool is_in_private_folder(const BatchScript& script);

/// All that `#PBS -v` names in the script, as one list.
[[nodiscard]] std::string variables_of(const BatchScript& script);

} // namespace cybele::schedulers
