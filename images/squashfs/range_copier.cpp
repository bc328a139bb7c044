// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/range_copier.hpp"

#include <algorithm>
#include <system_error>

#include <fcntl.h>

namespace cybele::images {
namespace {

constexpr std::uint64_t kRangePiece = std::uint64_t{1} << 20U;
constexpr std::uint64_t kSyncPiece = std::uint64_t{32} << 20U;

std::uint64_t end_of(const CopiedRange& range) {
    return range.place + range.bytes;
}

} // namespace

RangeCopier::RangeCopier(int to) : to_(to) {
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
        // Without a thread, who waits copies.
    }
}

RangeCopier::~RangeCopier() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    work_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

/// A small last range is left alone as long as nobody waits for it: it may grow.
bool RangeCopier::has_work() const {
    if (current_ >= ranges_.size() || !end_.ok()) {
        return false;
    }
    const CopiedRange& range = ranges_[current_];
    const std::uint64_t left = range.bytes - done_;
    return left >= kRangePiece || current_ + 1 < ranges_.size() ||
           (left > 0 && range.place + done_ < wanted_);
}

bool RangeCopier::is_there(std::uint64_t end) const {
    return !end_.ok() || current_ >= ranges_.size() ||
           (current_ + 1 == ranges_.size() && done_ == ranges_[current_].bytes) ||
           ranges_[current_].place + done_ >= end;
}

void RangeCopier::add(const CopiedRange& range) {
    bool is_ready = false;
    {
        const std::lock_guard lock(mutex_);
        if (!ranges_.empty() && ranges_.back().fd == range.fd &&
            end_of(ranges_.back()) == range.place &&
            ranges_.back().offset + ranges_.back().bytes == range.offset) {
            ranges_.back().bytes += range.bytes;
        } else {
            ranges_.push_back(range);
        }
        is_ready = has_work();
    }
    if (is_ready) {
        work_.notify_one();
    }
}

/// Copies a piece, the lock given back meanwhile.
void RangeCopier::copy_next(std::unique_lock<std::mutex>& lock) {
    const CopiedRange& range = ranges_[current_];
    const FileCopy piece{range.fd,
                         range.offset + done_,
                         to_,
                         range.place + done_,
                         std::min(range.bytes - done_, kRangePiece)};
    const bool starts_writing = (unsynced_ += piece.bytes) >= kSyncPiece;
    lock.unlock();
    const CopyEnd end = copy_bytes(piece);
    if (starts_writing) {
        // What was copied before it was begun already; only what is new is written.
        (void)::sync_file_range(
            to_, 0, static_cast<off64_t>(piece.place + piece.bytes), SYNC_FILE_RANGE_WRITE);
    }
    lock.lock();
    unsynced_ = starts_writing ? 0 : unsynced_;
    end_ = end;
    done_ += piece.bytes;
    if (done_ == ranges_[current_].bytes && current_ + 1 < ranges_.size()) {
        ++current_;
        done_ = 0;
    }
}

void RangeCopier::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        work_.wait(lock, [this] { return is_ending_ || has_work(); });
        if (is_ending_) {
            return;
        }
        copy_next(lock);
        progress_.notify_one();
    }
}

CopyEnd RangeCopier::wait_for(std::uint64_t end) {
    std::unique_lock lock(mutex_);
    wanted_ = end;
    if (!thread_.joinable()) {
        while (!is_there(end)) {
            copy_next(lock);
        }
    } else if (!is_there(end)) {
        work_.notify_one();
        progress_.wait(lock, [&] { return is_there(end); });
    }
    wanted_ = 0;
    return end_;
}

CopyEnd RangeCopier::cut(std::uint64_t end) {
    if (const CopyEnd all = wait_for(~std::uint64_t{0}); !all.ok()) {
        return all;
    }
    const std::lock_guard lock(mutex_);
    while (!ranges_.empty() && ranges_.back().place >= end) {
        ranges_.pop_back();
    }
    if (!ranges_.empty()) {
        ranges_.back().bytes = std::min(ranges_.back().bytes, end - ranges_.back().place);
    }
    current_ = ranges_.empty() ? 0 : ranges_.size() - 1;
    done_ = ranges_.empty() ? 0 : ranges_.back().bytes;
    return {};
}

} // namespace cybele::images
