// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <sys/types.h>

namespace cybele::cli {

/// A thread that writes to standard error what is being done, with the seconds since the start of
/// the program, whenever nothing else was written there for ten seconds. While a program only
/// waits, a terminal has one line that is written again every ten seconds; elsewhere the lines of
/// the first minute are followed by fewer and fewer. A child process that was forked has no such
/// thread, and its calls have no effect.
class Heartbeat final : public LongWork {
public:
    explicit Heartbeat(bool is_terminal) : is_terminal_(is_terminal) {}
    ~Heartbeat() override;

    /// What is being done from now on; empty: nothing that takes long, and the thread ends.
    void doing(std::string what, Wait wait) override;
    /// Something was written.
    void touch() override;
    /// `  12.0 s  what`
    [[nodiscard]] std::string line_of(std::string_view what) const override;

private:
    using Clock = std::chrono::steady_clock;
    void start();
    void end();
    void run();
    [[nodiscard]] Clock::duration pause() const;
    [[nodiscard]] std::string_view before_line() const;

    const bool is_terminal_;
    const pid_t owner_ = this_process();
    const Clock::time_point begin_ = Clock::now();
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string what_;
    bool is_waiting_ = false;
    bool is_over_ = false;
    bool is_own_last_ = false;         ///< the last line is the thread's, of a waiting
    Clock::time_point since_ = begin_; ///< of a waiting
    Clock::time_point last_ = begin_;  ///< when something was written
    std::thread thread_;

    [[nodiscard]] static pid_t this_process();
};

} // namespace cybele::cli
