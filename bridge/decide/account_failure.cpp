// SPDX-License-Identifier: Apache-2.0
#include "bridge/decide/account_failure.hpp"

#include "support/find.hpp"
#include "support/text.hpp"

#include <array>

namespace cybele::bridge {

std::string_view reason_of_words(std::string_view words) {
    const bool is_credential = text::contains_any(words,
                                                  {"Permission denied (", // of ssh
                                                   "Host key verification failed",
                                                   "Too many authentication failures",
                                                   "a password is required", // of sudo
                                                   "is not allowed to run sudo",
                                                   "is not allowed to execute",
                                                   "may not run sudo",
                                                   "is not in the sudoers file",
                                                   kRunAsOther,
                                                   "HTTP 401", // of slurmrestd
                                                   "uthentication",
                                                   "nauthorized"});
    return is_credential ? kCredentialsFailed : kClusterUnavailable;
}

std::string_view reason_of_error(const Error& error) {
    constexpr std::array<std::string_view, 6> kOfTokens{"token-missing",
                                                        "token-command-failed",
                                                        "token-file-missing",
                                                        "token-not-configured",
                                                        "bridge-token-expired",
                                                        "bridge-token-of-another"};
    const Fault& fault = error.faults().front();
    const bool is_of_token = contains(kOfTokens, fault.id);
    return is_of_token ? kCredentialsFailed : reason_of_words(fault.message + ": " + fault.because);
}

} // namespace cybele::bridge
