// SPDX-License-Identifier: Apache-2.0
#include "support/signals.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace cybele {

namespace {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): signals are the process's
const SignalWatch* existing = nullptr;
} // namespace

SignalWatch::SignalWatch() {
    sigset_t watched{};
    ::sigemptyset(&watched);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        ::sigaddset(&watched, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
    fd_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    existing = this;
}

SignalWatch::~SignalWatch() {
    existing = nullptr;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> SignalWatch::take() const {
    signalfd_siginfo information{};
    if (::read(fd_.get(), &information, sizeof information) !=
        static_cast<ssize_t>(sizeof information)) {
        return std::nullopt;
    }
    return static_cast<int>(information.ssi_signo);
}

const SignalWatch* SignalWatch::current() {
    return existing;
}

} // namespace cybele
