// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/bridge.hpp"
#include "submission/backends/backend.hpp"
#include "submission/backends/host.hpp"
#include "submission/backends/token.hpp"
#include "support/environment.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace cybele::bridge {

struct HostRequest {
    launchers::BridgeConnection way;
    std::string account;           ///< of sudo; empty: nobody else
    std::filesystem::path sockets; ///< folder of ssh connections that are kept
    Environment environment;
    submission::Meanwhile meanwhile = nullptr;
};

/// Slurm's REST service as the account of the way's token; null: the way has commands.
struct ServiceConnection {
    std::unique_ptr<submission::Backend> backend;
    std::unique_ptr<submission::Token> token; ///< to see whose it is
};
[[nodiscard]] ServiceConnection service_of(const launchers::BridgeConnection& way,
                                           const std::string& account,
                                           const Environment& environment,
                                           const std::filesystem::path& program);
/// What is wrong with the token; unset: it is the account's own, and an ordinary user's.
[[nodiscard]] std::optional<Error> check_token(submission::Token& token,
                                               const std::string& account);

/// The shell that runs commands as the account. Of the environment it gets only what commands of a
/// batch system need: a job inherits what the command that submits it has.
[[nodiscard]] std::unique_ptr<submission::Host> host_of(const HostRequest& request);

/// Where the records of an account's jobs are.
[[nodiscard]] std::filesystem::path records_of(const launchers::BridgeAccount& row);

/// Makes that folder where it is on this machine, as for a service, which has no files.
[[nodiscard]] std::error_code make_records(const launchers::BridgeAccount& row);

/// For people: `this machine`, `ssh LOGIN`, `sudo ACCOUNT`, `ssh LOGIN, sudo ACCOUNT`.
[[nodiscard]] std::string way_text(const launchers::BridgeConnection& way,
                                   const std::string& account);

} // namespace cybele::bridge
