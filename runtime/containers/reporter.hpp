// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cybele::runtime {

/// A thread that writes to standard error what a start is doing, every ten seconds until it ends.
/// It has ended before further namespaces are entered, which needs a process with one thread.
class Reporter {
public:
    Reporter(std::string what, bool is_quiet);
    ~Reporter();
    Reporter(const Reporter&) = delete;
    Reporter& operator=(const Reporter&) = delete;

private:
    void run();

    const std::string what_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_over_ = false;
    std::thread thread_;
};

} // namespace cybele::runtime
