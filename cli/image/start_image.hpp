// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "cli/run/start_options.hpp"

#include <string>
#include <string_view>

namespace cybele::cli {

/// The file of an image that is to be started: itself, one of the store (`store:NAME`), or one that
/// a URI names (docker://, oci:, oci-archive:, docker-archive:, oras://, library://, http://,
/// https://), which is pulled and converted into the store. Of several starts that want one image,
/// one converts it and the others wait.
[[nodiscard]] Result<std::string> start_image(const Session& session, const StartOptions& options);

/// Whether it names an image by a scheme, as `docker://`, and not a file.
[[nodiscard]] bool has_scheme(std::string_view image);

/// Environment of the commands that pull and convert: login and temporary folder.
[[nodiscard]] Environment environment_of_pull(const Session& session, const StartOptions& options);

/// What `pull [FILE] URI` is asked for.
struct FilePullRequest {
    std::string source;
    std::string output;
    StartOptions options; ///< of the way to the registry
    bool is_forced = false;
    bool is_sandbox = false;
};
[[nodiscard]] Result<int> pull_file(const Session& session, const FilePullRequest& wish);

/// The file that Apptainer pulls a URI into: NAME_TAG.sif.
[[nodiscard]] std::string pulled_name(const std::string& uri);

} // namespace cybele::cli
