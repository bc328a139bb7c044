// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "registry/cache/known_files.hpp"
#include "support/digest.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <optional>

namespace cybele::builder {

/// The folder that a file lies in; "." for a bare name.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& file);

/// The path from the root; a relative one begins in the working directory, "" is that itself.
[[nodiscard]] std::filesystem::path absolute_path(const std::filesystem::path& path);

/// kInput where the output exists (without --force) or is a folder; kInput where its folder is
/// missing.
[[nodiscard]] Result<void> check_output(const BuildRequest& request);

/// Held while an image is made: kInput where another build of this user makes the same file. The
/// lock lies below the cache, for the output's folder is the user's.
[[nodiscard]] Result<UniqueFd> lock_output(const std::filesystem::path& output,
                                           const std::filesystem::path& cache);

/// Gives a finished image in the output's folder its final name.
[[nodiscard]] Result<BuildResult> put_in_place(const std::filesystem::path& image,
                                               const BuildRequest& request);

/// Remembers what a file that was put in place was made from, for find_in_place(); from here on
/// whoever writes to it is seen.
void remember_in_place(int fd, const Digest& made, registry::KnownFiles& files);

/// The output, where it may be replaced, but is what was remembered of the same `made`, and nobody
/// touched it since: by its stamp. It gets the time of a new one, for who compares it with its
/// sources (make).
[[nodiscard]] std::optional<BuildResult>
find_in_place(const BuildRequest& request, const Digest& made, registry::KnownFiles& files);

} // namespace cybele::builder
