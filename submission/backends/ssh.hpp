// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <string>
#include <utility>

namespace cybele::submission {

/// A login node behind the OpenSSH program, with the user's own configuration, agent and keys. One
/// connection is kept for a minute, by all who name the same folder of `sockets`.
class SshLogin {
public:
    SshLogin(std::string login, std::filesystem::path sockets, Environment environment)
        : login_(std::move(login)), sockets_(std::move(sockets)),
          environment_(std::move(environment)) {}

    /// `ssh LOGIN REMOTE`; `remote` is read by the login shell there, so it must be a text that
    /// every shell reads alike.
    [[nodiscard]] Command command(const std::string& remote) const;
    /// Why the connection ended before the answer was complete (kExecution): what was done there is
    /// not known, but where it never began (kEnvironment).
    [[nodiscard]] Error broken(const Outcome& outcome) const;
    [[nodiscard]] const std::string& name() const {
        return login_;
    }
    /// PATH of a login shell there, as a call found it; empty: no call needed it yet. It is
    /// kept next to the sockets.
    [[nodiscard]] std::string kept_path() const;
    void keep_path(const std::string& path) const;

private:
    [[nodiscard]] std::filesystem::path path_file() const;
    std::string login_;
    std::filesystem::path sockets_;
    Environment environment_;
};

/// A word that no other output holds: by it answers are told from what a login shell prints.
[[nodiscard]] std::string new_nonce();

} // namespace cybele::submission
