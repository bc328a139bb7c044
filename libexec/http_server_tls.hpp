// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <openssl/ssl.h>

namespace cybele::http {

struct FreeTls {
    void operator()(SSL_CTX* context) const {
        SSL_CTX_free(context);
    }
    void operator()(SSL* stream) const {
        SSL_free(stream);
    }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;
using TlsStream = std::unique_ptr<SSL, FreeTls>;

struct TlsSettings {
    std::vector<std::string> names; ///< of a certificate that is made
    std::string certificate;        ///< PEM; empty: one is made
    std::string key;                ///< PEM
    std::string clients;            ///< PEM of the authorities of clients; empty: none
};

/// Nothing where a PEM text cannot be read. `certificate` gets what clients are shown, as PEM.
[[nodiscard]] TlsContext make_tls(const TlsSettings& settings, std::string& certificate);

/// The certificate that a client showed; the handshake accepts any, so that a wrong one can be
/// answered.
struct TlsPeer {
    std::string certificate = "none"; ///< none, good or bad
    std::string user;                 ///< its common name, where it is good
    std::vector<std::string> groups;  ///< its organizations
};
[[nodiscard]] TlsPeer peer_of(const SSL& stream);

} // namespace cybele::http
