// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/host.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace cybele::submission {

/// Follows a file that grows: gives whole lines as they come, an unfinished one after a second,
/// and starts again where the file was cut, or another one took its name (rotation). A file that
/// was cut and has grown beyond its old size between two looks cannot be told from one that grew.
class LogReader {
public:
    using Clock = std::chrono::steady_clock;

    explicit LogReader(std::filesystem::path file, std::uint64_t offset = 0)
        : file_(std::move(file)), offset_(offset) {}

    /// What is to be read next.
    [[nodiscard]] Reading next() const {
        return {file_.native(), offset_, kMost};
    }
    /// What is to be printed. `is_last`: the job has ended, so an unfinished line is given too.
    [[nodiscard]] std::string take(const ReadBack& back, Clock::time_point now, bool is_last);
    /// Whether the last piece was as long as a piece may be: there is more.
    [[nodiscard]] bool has_more() const {
        return has_more_;
    }
    /// Whether the file was cut or replaced since the last call; told once.
    [[nodiscard]] bool was_cut();
    [[nodiscard]] const std::filesystem::path& file() const {
        return file_;
    }

private:
    static constexpr std::uint64_t kMost = 65536;
    std::filesystem::path file_;
    std::uint64_t offset_ = 0;
    std::uint64_t inode_ = 0; ///< of the file that was read up to the offset
    std::string held_;        ///< the unfinished line
    Clock::time_point held_since_;
    bool has_more_ = false;
    bool was_cut_ = false;
};

} // namespace cybele::submission
