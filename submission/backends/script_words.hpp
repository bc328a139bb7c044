// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_script.hpp"

#include <string>

namespace cybele::submission {

/// What a script's own directives say of things that a submission gives on the command line, where
/// they would replace the script's.
struct ScriptWords {
    bool says_rerun = false; ///< `--requeue`, `--no-requeue`, `-r`
    std::string comment;
    std::string variables; ///< of `-v`
};

[[nodiscard]] ScriptWords words_of_script(const std::string& script, schedulers::Reader reader);

} // namespace cybele::submission
