// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/squashfs.hpp"
#include "support/file_copy.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace cybele::images {

/// Copies what lies ready in layers into an image by a thread of its own, while the rest of the
/// image is written. Ranges that follow each other in both files are one, and are copied in large
/// pieces; their writing to disk begins at once, so that the sync at the end has little to wait
/// for.
class RangeCopier {
public:
    explicit RangeCopier(int to);
    RangeCopier(const RangeCopier&) = delete;
    RangeCopier& operator=(const RangeCopier&) = delete;
    ~RangeCopier();

    /// To be copied; its place is behind those of all that were added before.
    void add(const CopiedRange& range);
    /// Waits until all that has its place before `end` is there.
    [[nodiscard]] CopyEnd wait_for(std::uint64_t end);
    /// Waits, and forgets what lies behind `end`: other bytes will be written there.
    [[nodiscard]] CopyEnd cut(std::uint64_t end);
    /// All, in the order of their places; when nothing is under way.
    [[nodiscard]] const std::vector<CopiedRange>& ranges() const {
        return ranges_;
    }

private:
    [[nodiscard]] bool has_work() const;
    [[nodiscard]] bool is_there(std::uint64_t end) const;
    void copy_next(std::unique_lock<std::mutex>& lock);
    void run();

    int to_;
    std::mutex mutex_; ///< of all below
    std::condition_variable work_;
    std::condition_variable progress_;
    std::vector<CopiedRange> ranges_;
    std::size_t current_ = 0;    ///< all ranges before it are there,
    std::uint64_t done_ = 0;     ///< and of it so many bytes
    std::uint64_t unsynced_ = 0; ///< bytes whose writing to disk is not begun
    std::uint64_t wanted_ = 0;   ///< somebody waits for what lies before this place
    bool is_ending_ = false;
    CopyEnd end_;
    std::thread thread_;
};

} // namespace cybele::images
