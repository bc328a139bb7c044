// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/log_reader.hpp"

#include <utility>

namespace cybele::submission {
namespace {
constexpr std::chrono::seconds kHold{1};
} // namespace

std::string LogReader::take(const ReadBack& back, Clock::time_point now, bool is_last) {
    const bool is_other = offset_ != 0 && inode_ != 0 && back.inode != 0 && back.inode != inode_;
    if (back.exists) {
        inode_ = back.inode;
    }
    if (back.exists && (is_other || back.size < offset_)) {
        was_cut_ = true;
        offset_ = 0;
        has_more_ = true;
        return std::exchange(held_, {});
    }
    offset_ += back.bytes.size();
    has_more_ = back.exists && back.size > offset_ && !back.bytes.empty();
    const bool was_empty = held_.empty();
    held_ += back.bytes;
    const std::size_t end = held_.rfind('\n');
    if (is_last && !has_more_) {
        return std::exchange(held_, {});
    }
    if (end == std::string::npos) {
        if (was_empty) {
            held_since_ = now;
        }
        return now - held_since_ < kHold ? std::string() : std::exchange(held_, {});
    }
    std::string lines = held_.substr(0, end + 1);
    held_.erase(0, end + 1);
    held_since_ = now;
    return lines;
}

bool LogReader::was_cut() {
    return std::exchange(was_cut_, false);
}

} // namespace cybele::submission
