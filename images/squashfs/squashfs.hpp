// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cybele::images {

/// One of the layers that an overlay shows as a tree.
struct TreeLayer {
    std::filesystem::path folder; ///< read where `fd` is -1
    int fd = -1;                  ///< a squashfs of the same files, from its begin
    std::uint64_t size = 0;       ///< of the squashfs
};

/// Bytes of a layer that lie in the image as they are.
struct CopiedRange {
    int fd = -1;              ///< TreeLayer::fd
    std::uint64_t offset = 0; ///< in the layer
    std::uint64_t place = 0;  ///< in the image's file
    std::uint64_t bytes = 0;
};

struct PackOptions {
    std::string compression = "zstd";        ///< zstd (level 4), gzip (level 6)
    std::uint32_t workers = 0;               ///< 0: as many as processors in the affinity mask
    std::optional<std::int64_t> clamp_times; ///< no time stamp later than this
    bool all_root = false;                   ///< every owner becomes 0:0
    bool skip_devices = false; ///< leaves device nodes out, but not an overlay's whiteouts (0:0)
    /// Keeps the attribute by which an overlay marks a directory that hides what lies below it
    /// (trusted.overlay.opaque, user.overlay.opaque): for layers that are mounted again.
    bool keep_opaque = false;
    /// All layers that `root` shows, the lowest first, where it is an overlay of them whose files
    /// never point to others (redirect_dir and metacopy off). What lies compressed in one of them
    /// is copied instead of compressed again; the bytes written are the same.
    std::vector<TreeLayer> layers;
    /// Told at the end what was copied so, in the order of its places.
    std::function<void(const std::vector<CopiedRange>& ranges)> on_copied;
    std::function<void(std::uint64_t bytes)> on_progress;
};

/// Writes a squashfs of `root` at `offset` of `fd` by libsquashfs; gives its size (a multiple of
/// 4096). Does not leave root's file system, keeps xattrs security.capability and user.*.
[[nodiscard]] Result<std::uint64_t> write_squashfs(const std::filesystem::path& root,
                                                   int fd,
                                                   std::uint64_t offset,
                                                   const PackOptions& options);

} // namespace cybele::images
