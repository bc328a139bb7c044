// SPDX-License-Identifier: Apache-2.0
#include "bridge/trouble.hpp"

#include "support/text.hpp"

namespace cybele::bridge {

std::string_view reason_of_trouble(std::string_view words) {
    const bool is_credential = text::contains_any(words,
                                                  {"Permission denied (", // of ssh
                                                   "Host key verification failed",
                                                   "Too many authentication failures",
                                                   "a password is required", // of sudo
                                                   "is not allowed to run sudo",
                                                   "there is no token",
                                                   "the token",
                                                   "HTTP 401",
                                                   "uthentication",
                                                   "nauthorized"});
    return is_credential ? kCredentialsFailed : kClusterUnavailable;
}

} // namespace cybele::bridge
