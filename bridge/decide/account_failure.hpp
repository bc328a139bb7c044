// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>

namespace cybele::bridge {

/// Reasons of a condition while commands as the account of an object fail.
inline constexpr std::string_view kCredentialsFailed = "CredentialsFailed";
inline constexpr std::string_view kClusterUnavailable = "ClusterUnavailable";

/// What our scripts say where commands run as another user than the account (record_scripts.hpp).
inline constexpr std::string_view kRunAsOther = "commands run as another user";

/// Why such commands fail.
struct AccountFailure {
    std::string message;          ///< empty: they do not
    std::string_view reason = {}; ///< one of the two above

    [[nodiscard]] bool empty() const {
        return message.empty();
    }
};

/// Which reason these words of ssh, sudo or a service mean.
[[nodiscard]] std::string_view reason_of_words(std::string_view words);
/// The reason of an error: of a token by its id, else by the words that it repeats.
[[nodiscard]] std::string_view reason_of_error(const Error& error);

} // namespace cybele::bridge
