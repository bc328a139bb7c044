// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/files/workspace.hpp"
#include "support/error.hpp"

#include <filesystem>

namespace cybele::cli {

/// Whether it is the root file system of an image, as a directory.
[[nodiscard]] bool is_sandbox(const std::filesystem::path& directory);

/// The image takes the place of a sandbox.
[[nodiscard]] Result<void> replace_sandbox(const std::filesystem::path& image,
                                           const std::filesystem::path& directory);

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
