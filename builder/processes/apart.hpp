// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/step_event.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"

#include <atomic>
#include <csignal>
#include <functional>
#include <string>

/// Work in a process of its own, inside namespaces, so that whatever ends it, nothing it mounted or
/// started stays.
namespace cybele::builder {

/// Tells the user of a step; called in the process apart, heard in the one that waits.
using Report = std::function<void(const StepEvent&)>;

/// Catches INT, TERM and HUP while it lives, so that a build can clean up behind itself.
class SignalCatcher {
public:
    SignalCatcher();
    SignalCatcher(const SignalCatcher&) = delete;
    SignalCatcher& operator=(const SignalCatcher&) = delete;
    ~SignalCatcher();

    /// The signal that came; 0 if none did.
    [[nodiscard]] static int caught();
    /// kExecution, when a signal came.
    [[nodiscard]] static Result<void> check();
    /// Back to what the signals did before, in a child.
    void restore() const;

private:
    struct sigaction before_[3];
};

/// Forks; the child enters the namespaces and does `work`, whose error is given back. A signal that
/// is caught kills the child and all that it started.
[[nodiscard]] Result<void> run_apart(namespaces::IdMap map,
                                     const SignalCatcher& signals,
                                     const Report& report,
                                     const std::function<Result<void>(const Report&)>& work);

} // namespace cybele::builder
