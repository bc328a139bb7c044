// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace cybele::bridge {

/// What happened to one object, for the log.
struct Transition {
    std::string object; ///< NAMESPACE/NAME; empty: of the bridge itself
    std::string uid;
    std::string what;   ///< one word: Claimed, Prepared, RUNNING, Complete, Warning …
    std::string detail; ///< empty: nothing more
};

using TransitionLog = std::function<void(const Transition&)>;

} // namespace cybele::bridge
