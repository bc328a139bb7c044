// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/ssh.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace cybele::submission {

/// A script of ours at work in a folder of the other machine.
struct Conversation {
    /// POSIX sh, begun in the folder; each line of its answers begins with `$n `.
    std::string_view script;
    std::filesystem::path folder;
    bool makes_folder = false;
    std::function<std::string()> more;          ///< what it reads, piece by piece; "" is the end
    std::function<bool(std::string_view)> take; ///< what it prints, piece by piece; false: enough
};

/// Runs it: one ssh. What the login shell prints before is kept away. `n` of the script is `nonce`.
/// The outcome says how ssh ended; whether the answer is whole the script's last line tells. Of a
/// folder that is not there, or cannot be made, the answer is `NONCE refused REASON`.
[[nodiscard]] Result<Outcome>
converse(const SshLogin& login, const std::string& nonce, const Conversation& conversation);

/// The connection ended before the answer was whole, `while` something was done (kEnvironment).
[[nodiscard]] Error
broken_off(const SshLogin& login, const Outcome& outcome, std::string_view doing);

} // namespace cybele::submission
