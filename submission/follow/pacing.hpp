// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace cybele::submission {

/// How long to wait between questions to a scheduler: soon after a change, ever longer while
/// nothing happens, longer still while it does not answer; a fifth more or less by chance, so that
/// many clients do not ask at once.
class Pacing {
public:
    using Milliseconds = std::chrono::milliseconds;

    explicit Pacing(Milliseconds longest = std::chrono::seconds(30)) : longest_(longest) {}

    void saw_change();
    void saw_nothing();
    void saw_failure();
    /// `chance` is from 0 to 1.
    [[nodiscard]] Milliseconds pause(double chance) const;

private:
    Milliseconds longest_;
    Milliseconds step_{1000};
};

} // namespace cybele::submission
