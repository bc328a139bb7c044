// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file.hpp"
#include "images/squashfs/ready_blocks.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <sqfs/compressor.h>

namespace cybele::images {

/// A block of the ends of files, as a layer stores it and as it was.
struct Fragment {
    std::vector<sqfs_u8> stored;
    std::vector<sqfs_u8> bytes;
};
using FragmentPointer = std::shared_ptr<const Fragment>;

/// Decompresses such blocks, by a thread of its own those that are likely to be asked for next. The
/// last ones are kept: equal files share an end, wherever the next one lies.
class FragmentReader {
public:
    /// Decompresses by copies of `decompressor`, to at most `room` bytes.
    FragmentReader(const sqfs_compressor_t& decompressor, std::size_t room);
    FragmentReader(const FragmentReader&) = delete;
    FragmentReader& operator=(const FragmentReader&) = delete;
    ~FragmentReader();

    /// Null where the block cannot be read. `next`: what follows it.
    [[nodiscard]] FragmentPointer read(const ReadyBlock& wanted, std::span<const ReadyBlock> next);

private:
    enum class State { kAsked, kTaken, kRead };
    struct Entry {
        ReadyBlock block;
        State state = State::kAsked;
        FragmentPointer fragment;
    };
    using EntryPointer = std::shared_ptr<Entry>;

    [[nodiscard]] EntryPointer find(const ReadyBlock& block) const;
    [[nodiscard]] EntryPointer add(const ReadyBlock& block);
    void fill(Entry& entry, sqfs_compressor_t& decompressor, std::unique_lock<std::mutex>& lock);
    void run();

    std::size_t room_;
    SquashfsHandle<sqfs_compressor_t> own_;   ///< of who asks
    SquashfsHandle<sqfs_compressor_t> ahead_; ///< of the thread
    std::mutex mutex_;                        ///< of all below
    std::condition_variable asked_;
    std::condition_variable filled_;
    std::deque<EntryPointer> entries_; ///< the one that was asked for last in front
    bool is_ending_ = false;
    std::thread thread_;
};

} // namespace cybele::images
