// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/reporter.hpp"

#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::runtime {

/// Signals are for the threads that expect them. Without a thread there are no lines.
Reporter::Reporter(std::string what, bool is_quiet) : what_(std::move(what)) {
    if (is_quiet) {
        return;
    }
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
        is_over_ = true;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Reporter::~Reporter() {
    if (!thread_.joinable()) {
        return;
    }
    {
        const std::lock_guard<std::mutex> own(mutex_);
        is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Reporter::run() {
    constexpr std::chrono::seconds kReportPause{10};
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock<std::mutex> own(mutex_);
    while (!changed_.wait_for(own, kReportPause, [this] { return is_over_; })) {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        const std::string line = fmt::format("{:6.1f} s  {}\n", seconds.count(), what_);
        (void)!::write(STDERR_FILENO, line.data(), line.size());
    }
}

} // namespace cybele::runtime
