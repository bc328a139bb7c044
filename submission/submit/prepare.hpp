// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "submission/backends/backend.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace cybele::submission {

/// A folder in one spelling: absolute, without dots and without a slash at its end.
[[nodiscard]] std::filesystem::path place_of(const std::filesystem::path& folder);

struct PrepareRequest {
    const launchers::Job* job = nullptr;
    std::string script;
    std::string scheduler;
    bool is_here = true;               ///< it runs by the commands of this machine
    std::string image_digest;          ///< sha256:… of the image; empty: not known
    std::optional<OwnScript> own = {}; ///< set: the script is the user's
};

/// Gives the job a UUID and writes its record folder, WORKDIR/.cybelectl/UUID (0700): job.json and
/// the script. Behind ssh they travel with the submission, and the workdir is a folder there. Its
/// outputs are not known before its id is.
[[nodiscard]] Result<Submission> prepare_job(const PrepareRequest& request);

} // namespace cybele::submission
