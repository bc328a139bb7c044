// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/job/input.hpp"
#include "submission/submit/own_script.hpp"
#include "support/error.hpp"

#include <string>
#include <vector>

namespace cybele::cli {

/// A batch script of the user's own in the place of a Job.
struct ScriptOptions {
    std::string file;
    std::string workdir;
    std::vector<std::string> words; ///< after the first positional argument
    bool has_job = false;           ///< that first argument is there

    [[nodiscard]] bool is_given() const {
        return !file.empty();
    }
};

/// `--script`, `--workdir`, and the words that are the script's; JOB is optional from then on.
void add_script_options(CLI::App& verb, ScriptOptions& options);

/// What is to be submitted, with the Site and the scheduler that are meant. An option that would
/// change what the script says is kUsage.
[[nodiscard]] Result<submission::OwnScriptRequest>
script_request(const Session& session, const JobOptions& job, const ScriptOptions& options);

/// The Job of a submission that names none: the one in this folder. None or several: kUsage.
[[nodiscard]] Result<std::string> own_job();

} // namespace cybele::cli
