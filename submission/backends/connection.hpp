// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>

namespace cybele::submission {

/// How a scheduler is reached, as a Site says it (`through`); what the journal keeps of it is its
/// text, so that a job is found again without its Site.
struct Connection {
    enum class Kind { kCommands, kSsh, kSlurmrestd, kRimrock };
    Kind kind = Kind::kCommands;
    std::string address;       ///< ssh: the host; of a service: its URL without a slash at the end
    std::string host;          ///< rimrock: the login host behind the service
    std::string token_command; ///< prints the token; empty: token_of() of backends/token.hpp

    /// By the commands of this machine.
    [[nodiscard]] bool is_here() const {
        return kind == Kind::kCommands;
    }
    /// By a REST service.
    [[nodiscard]] bool is_service() const {
        return kind == Kind::kSlurmrestd || kind == Kind::kRimrock;
    }
};

/// ``, `HOST`, `slurmrestd+URL`, `rimrock+URL#host=HOST`; settings of a service stand behind `#`,
/// with `&` between them and `%XX` for what would end one.
[[nodiscard]] std::string text_of(const Connection& connection);

/// Reads text_of()'s text. A setting that is not known is kInput: another version wrote it.
[[nodiscard]] Result<Connection> read_connection(std::string_view text);

/// For people: without the settings.
[[nodiscard]] std::string shown(std::string_view text);
[[nodiscard]] std::string shown(const Connection& connection);

/// A service whose address may carry a token: https, or http on this machine's loopback.
[[nodiscard]] Result<void> check_address(const Connection& connection);

} // namespace cybele::submission
