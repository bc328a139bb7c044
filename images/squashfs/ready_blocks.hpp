// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <sqfs/block_writer.h>
#include <sqfs/compressor.h>

namespace cybele::images {

inline constexpr std::uint32_t kStoredAsIs = 1U << 24U; ///< in a block's size: not compressed

struct Fragment;

/// Where a block of a file lies as it is to be written.
struct ReadyBlock {
    int fd = -1;
    std::uint32_t size = 0; ///< as in an inode: with kStoredAsIs where it is not compressed
    std::uint64_t offset = 0;

    [[nodiscard]] std::uint32_t bytes() const {
        return size & ~kStoredAsIs;
    }
};

/// Brings blocks that are compressed already through libsquashfs' block processor, which takes
/// bytes only: a token goes in, and where that is written the block itself is copied. A token
/// begins with a random number of this run, which no file can hold. Outlives what it wraps.
class ReadyBlocks {
public:
    ReadyBlocks();
    ReadyBlocks(const ReadyBlocks&) = delete;
    ReadyBlocks& operator=(const ReadyBlocks&) = delete;

    /// Compresses by `real`, which stays the caller's; nullptr where memory is short.
    [[nodiscard]] SquashfsHandle<sqfs_compressor_t> wrap(const sqfs_compressor_t& real);
    /// Writes by `real`. Finds the same duplicates: it tells blocks apart by what is stored of
    /// them, since a token's checksum is not that of the block. `file` is what it writes to; its
    /// copier brings the blocks. Where blocks come with a user pointer, that is to a std::uint64_t,
    /// which gets the place of the file's first block.
    [[nodiscard]] SquashfsHandle<sqfs_block_writer_t> wrap(SquashfsHandle<sqfs_block_writer_t> real,
                                                           SquashfsFile& file);

    /// To be submitted in the block's place, with a user pointer; valid until the next call.
    [[nodiscard]] std::span<const char> token(const ReadyBlock& block);

    /// Bytes that lie compressed already, for the case that they are to be compressed soon: tails
    /// of files that share a block there, and may do so again.
    void offer(std::shared_ptr<const Fragment> fragment, const ReadyBlock& block);
    /// The block that holds these bytes, of those that were offered last; fd -1 where none does.
    /// For several threads.
    [[nodiscard]] ReadyBlock find(const sqfs_u8* bytes, std::size_t size) const;

    /// The block of a token; fd -1 for other bytes. For several threads.
    [[nodiscard]] ReadyBlock block_of(const void* bytes, std::size_t size) const;
    /// Makes compressed bytes of a block: a token of its size, or the stored bytes where these are
    /// fewer than a token needs. False: see has_failed(). For several threads.
    [[nodiscard]] bool stand_in(const ReadyBlock& block, void* into) const;
    /// Reads stored bytes of a block, from `at`; false: see has_failed(). For several threads.
    [[nodiscard]] bool
    read(const ReadyBlock& block, std::uint64_t at, void* into, std::size_t size) const;
    /// Whether a block could not be read.
    [[nodiscard]] bool has_failed() const {
        return has_failed_;
    }

private:
    struct Offer {
        std::shared_ptr<const Fragment> fragment;
        ReadyBlock block;
    };
    std::string mark_; ///< the random number
    std::vector<char> token_;
    mutable std::mutex mutex_; ///< of offers_
    std::deque<Offer> offers_; ///< the last one in front
    mutable std::atomic<bool> has_failed_ = false;
};

} // namespace cybele::images
