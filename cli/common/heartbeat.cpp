// SPDX-License-Identifier: Apache-2.0
#include "cli/common/heartbeat.hpp"

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {
namespace {

constexpr std::chrono::seconds kPause{9}; ///< below the ten that are promised: a busy machine adds
constexpr std::chrono::seconds kSoon{60}; ///< as long as a waiting is told at each pause
constexpr std::chrono::seconds kRarely{600}; ///< the longest pause of a waiting

} // namespace

pid_t Heartbeat::this_process() {
    return ::getpid();
}

Heartbeat::~Heartbeat() {
    if (owner_ == this_process()) {
        end();
    } else if (thread_.joinable()) {
        thread_.detach(); // it is the parent's
    }
}

void Heartbeat::end() {
    if (!thread_.joinable()) {
        return;
    }
    {
        const std::lock_guard<std::mutex> own(mutex_);
        is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
    is_over_ = false;
}

void Heartbeat::doing(std::string what, Wait wait) {
    const bool is_waiting = wait == Wait::kForOthers;
    if (owner_ != this_process()) {
        return;
    }
    if (what.empty()) { // a process with one thread may enter a user namespace
        end();
    }
    const std::lock_guard<std::mutex> own(mutex_);
    if (is_waiting && !is_waiting_) {
        since_ = Clock::now();
    }
    is_waiting_ = is_waiting;
    what_ = std::move(what);
    if (!what_.empty() && !thread_.joinable()) {
        start();
    }
}

void Heartbeat::touch() {
    if (owner_ == this_process()) {
        const std::lock_guard<std::mutex> own(mutex_);
        last_ = Clock::now();
        is_own_last_ = false;
    }
}

std::string Heartbeat::line_of(std::string_view what) const {
    const std::chrono::duration<double> seconds = Clock::now() - begin_;
    return fmt::format("{:6.1f} s  {}", seconds.count(), what);
}

/// Signals are for the threads that expect them. Without a thread there are no lines.
void Heartbeat::start() {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
        what_.clear();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Heartbeat::Clock::duration Heartbeat::pause() const {
    const auto waited = last_ - since_;
    return is_waiting_ && !is_terminal_ && waited >= kSoon
               ? std::min<Clock::duration>(waited / 2, kRarely)
               : Clock::duration(kPause);
}

/// A moving line of progress goes first; the line of a waiting takes the place of the one before.
std::string_view Heartbeat::before_line() const {
    if (!is_terminal_) {
        return {};
    }
    return is_waiting_ && is_own_last_ ? "\x1b[1A\r\x1b[K" : "\r\x1b[K";
}

void Heartbeat::run() {
    std::unique_lock<std::mutex> own(mutex_);
    while (!is_over_) {
        const auto next = last_ + pause();
        if (Clock::now() < next) {
            changed_.wait_until(own, next);
            continue;
        }
        last_ = Clock::now();
        if (!what_.empty()) {
            const std::string line = std::string(before_line()) + line_of(what_) + "\n";
            (void)!::write(STDERR_FILENO, line.data(), line.size());
            is_own_last_ = is_waiting_;
        }
    }
}

} // namespace cybele::cli
