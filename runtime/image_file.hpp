// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace cybele::runtime {

/// Where a squashfs lies in a file.
struct SquashfsPlace {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Where the root file system of an image lies.
struct ImageFile {
    enum class Kind { kDirectory, kSquashfs };
    Kind kind = Kind::kDirectory;
    std::filesystem::path path; ///< absolute
    UniqueFd fd;                ///< of the file; of a directory O_PATH
    std::uint64_t offset = 0;   ///< of the squashfs in the file
    std::uint64_t size = 0;
    /// Overlay partitions of the same SIF and group, the lowest first: they lie over it, as the
    /// reference mounts them.
    std::vector<SquashfsPlace> overlays;
};

/// Opens a SIF (its primary partition), a bare squashfs or a directory. kInput for anything else,
/// for a partition that is no squashfs, and for an image of another architecture than `host`
/// ("amd64").
[[nodiscard]] Result<ImageFile> open_image(const std::filesystem::path& path,
                                           const std::string& host_architecture);

} // namespace cybele::runtime
