// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/submit/submit.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// A batch script of the user's own, submitted byte for byte with the directives that it contains.
struct OwnScriptRequest {
    std::filesystem::path file;
    std::vector<std::string> arguments;
    std::string scheduler;           ///< empty: the Site's, else `local`
    std::filesystem::path site;      ///< empty: none
    std::string site_from;           ///< as in JobRequest
    std::optional<Place> site_place; ///< as in JobRequest
    std::filesystem::path folder;    ///< where the batch command is called: the current one
    std::string workdir;             ///< that folder on another machine; empty: `folder`
};

/// Whether a text is a batch script by its first line or its directives.
[[nodiscard]] bool is_own_script(std::string_view text);

/// Reads the script and what its directives ask for, so that `submit_once` can submit it and its
/// job can be followed. Not read as a script: what is not a regular file, is empty, has carriage
/// returns, names no shell, is a Job, or has the directives of another batch system (kInput).
/// Its notes are about directives without effect and outputs that are not known.
/// `host`: as of a ConnectionChoice.
[[nodiscard]] Result<RenderedJob> ready_script(const OwnScriptRequest& script,
                                               const std::string& host,
                                               const Environment& environment);

} // namespace cybele::submission
