// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cybele::submission {

/// What a JSON Web Token says of itself; it is read, not verified: the server does that.
struct TokenClaims {
    std::string user;         ///< Slurm's `sun`; empty: not said
    std::int64_t issued = 0;  ///< Unix seconds; 0: not said
    std::int64_t expires = 0; ///< the same
};
[[nodiscard]] TokenClaims read_claims(std::string_view token);

/// A text that a service takes for a person. From the command that was named, else the file in
/// CYBELE_TOKEN_FILE, else the variable SLURM_JWT. What a command or a file gave is asked for again
/// when four fifths of its life are over, a file each minute too, and whenever a service refuses
/// it.
class Token {
public:
    using Clock = std::function<std::int64_t()>;

    Token(std::string command, Environment environment, Clock clock)
        : command_(std::move(command)), environment_(std::move(environment)),
          clock_(std::move(clock)) {}

    /// The token; kEnvironment where there is none, or its command fails. What the command writes
    /// is never shown, but for its errors.
    [[nodiscard]] Result<std::string> get();
    /// The service refused it: the next get() asks anew. False: there is nothing to ask.
    bool renew();

private:
    [[nodiscard]] Result<std::string> ask() const;
    std::string command_;
    Environment environment_;
    Clock clock_;
    std::optional<std::string> kept_;
    std::int64_t kept_since_ = 0;
};

} // namespace cybele::submission
