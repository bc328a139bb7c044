// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <openssl/ssl.h>

namespace cybele::http {

/// The head of a request; method empty: it is not one.
struct RequestHead {
    std::string method;
    std::string path; ///< with its query
    std::string token;
};
[[nodiscard]] RequestHead read_head(std::string_view text);

/// Answers the one request of a connection by `command`, and closes it.
void serve_connection(int client, SSL_CTX& tls, const std::vector<std::string>& command);

} // namespace cybele::http
