// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file_node.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cybele::images {

/// What a folder holds, with all below it. A file with several names counts once, at its first.
struct FolderUsage {
    std::string name; ///< of the folder; "" is the root
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
    std::vector<FolderUsage> folders; ///< the largest first
};

/// What the files of a package need.
struct PackageUsage {
    std::string manager; ///< dpkg, apk, pip, conda
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
};

struct ImageUsage {
    FolderUsage root;
    std::vector<PackageUsage> packages; ///< the largest first
    PackageUsage others;                ///< files of no package that is known
};

/// Sizes of regular files as they are in the image, before compression.
[[nodiscard]] Result<ImageUsage> measure_usage(const FilePointer& root);

} // namespace cybele::images
