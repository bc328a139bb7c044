// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"

#include <filesystem>
#include <string_view>

/// Folders of fuzz targets that write files.
namespace cybele::fuzz {

/// A new folder, in memory where there is such a file system: a run writes several files.
inline TempDirectory make_scratch(std::string_view name) {
    namespace fs = std::filesystem;
    return TempDirectory::make(
               fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path(), name)
        .value();
}

/// The folder of this process, with a name of its target.
inline const std::filesystem::path& scratch_folder(std::string_view name) {
    static const TempDirectory folder = make_scratch(name);
    return folder.path();
}

} // namespace cybele::fuzz
