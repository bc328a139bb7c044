// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/files/workspace.hpp"
#include "support/error.hpp"

#include <filesystem>

namespace cybele::cli {

/// Whether it is a link, or a directory that no work is done in: with --force, Apptainer puts
/// an image in its place.
[[nodiscard]] bool is_replaceable(const std::filesystem::path& target);

/// The image takes the place of a link or a directory; where a link leads is left as it is.
[[nodiscard]] Result<void> replace_target(const std::filesystem::path& image,
                                          const std::filesystem::path& target);

/// kInput where the directory of `build --sandbox` exists and is not to be replaced, or is not a
/// sandbox, which nothing replaces. `replaces_files`: with force, a file is replaced, too.
[[nodiscard]] Result<void>
check_sandbox(const std::filesystem::path& directory, bool is_forced, bool replaces_files);

/// Where the image is built that becomes the sandbox, or takes its place: next to it, in a folder
/// that other users cannot write to, nor know the name of beforehand.
[[nodiscard]] Result<builder::Workspace> workspace_beside(const std::filesystem::path& directory);

/// Unpacks the image into the directory, which appears when it is complete: until then it is next
/// to the image, in the workspace. The image is removed.
[[nodiscard]] Result<void> make_sandbox_of(const std::filesystem::path& image,
                                           const std::filesystem::path& directory);

} // namespace cybele::cli
