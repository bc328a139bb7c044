// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// What unpack_into_cache() leaves in the cache: trees that a user may want to be rid of.
namespace cybele::runtime {

/// Below the cache directory; beside each tree KEY lie KEY.lock and KEY.used.
inline constexpr const char* kUnpackedFolder = "unpacked";

struct UnpackedTree {
    std::string
        key; ///< the folder's name: a digest, or one with ".part-…" (left by a killed start)
    std::filesystem::path path;
    std::uint64_t bytes = 0; ///< on the disk, hard links once
    std::int64_t used = 0;   ///< Unix seconds of the last start from it
    std::string image;       ///< the path that it was unpacked from; empty: not known
};

/// Those below `cache`, by name.
[[nodiscard]] std::vector<UnpackedTree> unpacked_trees(const std::filesystem::path& cache);

/// Removes it. False where it stays: a start has its lock, or a program of this host has it
/// mounted. Programs of other hosts are not seen.
[[nodiscard]] bool remove_unpacked(const UnpackedTree& tree);

/// Marks the tree `key` in `folder` as used now, by a start of `image`.
void mark_unpacked_used(const std::filesystem::path& folder,
                        const std::string& key,
                        const std::filesystem::path& image);

} // namespace cybele::runtime
