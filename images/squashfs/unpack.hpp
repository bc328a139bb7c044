// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>

namespace cybele::images {

/// Where a squashfs lies in a file.
struct SquashfsRange {
    int fd = -1;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// What the devices 0:0 and opaque directories of a squashfs mean.
enum class Whiteouts {
    kDropped, ///< nothing: it is no layer
    kKept,    ///< they are made, for an overlay that is mounted with this folder
    kApplied  ///< they delete what lies in the folder, which holds the layers below
};

/// Unpacks a squashfs below `directory`, which exists and is empty, by libsquashfs: modes, owners
/// (where this process may give files away), times, hard links and extended attributes are kept,
/// devices and sockets left out. Every name is made relative to a directory that this call made, so
/// a crafted image writes nothing outside. A damaged image is kInput.
[[nodiscard]] Result<void> unpack_squashfs(const SquashfsRange& range,
                                           const std::filesystem::path& directory,
                                           Whiteouts whiteouts = Whiteouts::kDropped);

} // namespace cybele::images
