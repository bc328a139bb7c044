// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>

/// Root file systems as tar files, by libarchive.
namespace cybele::builder {

/// Unpacks below `directory`, which exists: owners, modes, times, hard links and extended
/// attributes are kept, devices left out. Nothing is written outside, whatever the archive says.
/// The process's working directory is moved meanwhile: for a process of its own.
[[nodiscard]] Result<void> extract_tar(const std::filesystem::path& archive,
                                       const std::filesystem::path& directory);

/// Writes the tree, without leaving its file system, as an uncompressed pax archive.
[[nodiscard]] Result<void> write_tar(const std::filesystem::path& directory,
                                     const std::filesystem::path& archive);

} // namespace cybele::builder
