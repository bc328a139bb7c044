// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"

#include <csignal>
#include <optional>

namespace cybele {

/// TERM, INT and HUP of this process, read from a descriptor by whoever made it. While one exists,
/// run_process() leaves these signals to it; programs that are started get them unblocked.
class SignalWatch {
public:
    SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;
    ~SignalWatch();

    /// Readable when a signal has come.
    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    /// The next signal that has come, if any.
    [[nodiscard]] std::optional<int> take() const;

    /// What was blocked before it was made.
    [[nodiscard]] const sigset_t& before() const {
        return before_;
    }
    /// The one that exists, or null.
    [[nodiscard]] static const SignalWatch* current();

private:
    sigset_t before_{};
    UniqueFd fd_;
};

} // namespace cybele
