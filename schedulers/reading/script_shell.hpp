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

/// All that `#PBS -v` names in the script, as one list.
[[nodiscard]] std::string variables_of(const BatchScript& script);

} // namespace cybele::schedulers
