// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file_node.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cybele::images {

/// The root of a squashfs that lies in a file, read in place. The descriptor is duplicated. kInput
/// for what is no squashfs, is damaged, or is compressed in a way that this program lacks.
[[nodiscard]] Result<FilePointer> open_squashfs(int fd, std::uint64_t offset, std::uint64_t size);

inline constexpr std::uint32_t kNoFragment = 0xFFFFFFFF;

/// Where the blocks of a regular file lie, as its inode says: not judged yet.
struct SquashfsBlocks {
    std::uint64_t start = 0; ///< of the first one, from the begin of the squashfs
    /// Bytes of each, one behind the other; 0: a block of zeros that is not stored.
    std::span<const std::uint32_t> sizes;
    /// Where what is behind them lies: a block that several files share, and the place in it.
    std::uint32_t fragment = kNoFragment;
    std::uint32_t fragment_offset = 0;
};

/// Of a node of open_squashfs(), as long as the node lives; nothing for what is no regular file.
[[nodiscard]] std::optional<SquashfsBlocks> blocks_of(const FileNode& node);

/// Bytes of a regular file of open_squashfs(); fewer only at its end.
[[nodiscard]] Result<std::size_t>
read_squashfs(const FileNode& node, std::uint64_t offset, std::span<char> into);

} // namespace cybele::images
