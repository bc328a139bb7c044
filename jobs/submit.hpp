// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/job_input.hpp"
#include "jobs/record.hpp"
#include "project/image_build.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <functional>
#include <optional>
#include <string>

namespace cybele::jobs {

struct SubmitRequest {
    JobRequest job;
    project::ImageBuild build; ///< how an image is built where the Job names a Recipe
    bool wait = false;
    bool dry_run = false;
    std::filesystem::path program_folder; ///< of this program: first in the job's PATH
    std::function<void(const std::vector<Fault>&)> on_notes;
    std::function<void(const std::string&)> on_id; ///< called once, when the job is submitted
};

struct Submitted {
    std::string id;
    std::string script;
    std::filesystem::path standard_output;
    std::filesystem::path standard_error;
    std::optional<ExitRecord> end; ///< with `wait`
};

/// Reads and checks the Job, builds its image where it names a Recipe whose image is missing or
/// made from another text of it, renders the script and hands it to the scheduler. Back ends:
/// local; others "not yet: …".
[[nodiscard]] Result<Submitted> submit(const SubmitRequest& request,
                                       const Environment& environment);

} // namespace cybele::jobs
