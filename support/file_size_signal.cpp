// SPDX-License-Identifier: Apache-2.0
#include "support/file_size_signal.hpp"

#include <csignal>

namespace cybele {

namespace {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): signals are the process's
void (*file_size_signal_before)(int) = SIG_DFL;
} // namespace

void ignore_file_size_signal() {
    file_size_signal_before = std::signal(SIGXFSZ, SIG_IGN); // NOLINT: before any thread
}

void restore_file_size_signal() {
    if (file_size_signal_before != SIG_ERR) {
        (void)std::signal(SIGXFSZ, file_size_signal_before); // NOLINT: before the program's threads
    }
}

} // namespace cybele
