// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/bridge.hpp"
#include "submission/backends/host.hpp"
#include "support/environment.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace cybele::bridge {

struct WayRequest {
    launchers::BridgeWay way;
    std::string account;           ///< of sudo; empty: nobody else
    std::filesystem::path sockets; ///< folder of ssh connections that are kept
    Environment environment;
    submission::Meanwhile meanwhile = nullptr;
};

/// The shell that runs commands as the account. Of the environment it gets only what commands of a
/// batch system need: a job inherits what the command that submits it has.
[[nodiscard]] std::unique_ptr<submission::Host> host_of(const WayRequest& request);

/// For people: `this machine`, `ssh LOGIN`, `sudo ACCOUNT`, `ssh LOGIN, sudo ACCOUNT`.
[[nodiscard]] std::string way_text(const launchers::BridgeWay& way, const std::string& account);

} // namespace cybele::bridge
