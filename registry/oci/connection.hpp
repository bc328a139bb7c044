// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/challenge.hpp"
#include "registry/oci/credentials.hpp"
#include "registry/oci/reference.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/http.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace cybele::registry {

/// How the person at the command line gives a setting of Access; errors name it.
struct OptionWords {
    std::string plain_http = "`--plain-http`";
    std::string ca_file = "`--ca-file FILE`";
};

/// How registries are reached.
struct Access {
    std::filesystem::path ca_file;  ///< PEM; empty: the system's
    std::filesystem::path authfile; ///< looked into first
    std::optional<Login> login;     ///< this one, and no file is looked into
    std::string token_server;       ///< HOST[:PORT] that is given `login`, too
    bool is_plain = false;          ///< http: instead of https:
    bool may_be_plain = false;      ///< where a private host does not speak https:
    std::string library;            ///< HOST[:PORT] of `library://` without a host
    OptionWords option_words;
    unsigned attempts = 6;               ///< of what may go better another time
    std::chrono::seconds stall{30};      ///< without a byte of a download: it is asked for again
    std::function<std::int64_t()> clock; ///< Unix seconds
    std::function<void(std::chrono::milliseconds)> wait;
    std::function<void(const std::string&)> say; ///< told what is tried again, and why
};

/// What to do where a request fails that may succeed later.
enum class Retry {
    kOnFailure,
    kNever ///< the caller goes on from what was transferred
};

/// One registry, with one repository's rights: finds out how it wants to know who asks, keeps
/// tokens and renews them before they end, tries again what may go better.
class Connection {
public:
    Connection(const HttpClient& client,
               Access access,
               const Environment& environment,
               const Reference& reference,
               const std::string& actions);

    /// `https://HOST` + path
    [[nodiscard]] std::string url(const std::string& path) const;
    /// `/v2/REPOSITORY/` + path
    [[nodiscard]] std::string repository_url(const std::string& path) const;
    /// A further right, of another repository on the same host (for a mount).
    void add_scope(const std::string& repository, const std::string& actions);

    /// A login whose token (else its password) goes along with every request, to a server that
    /// hands out no tokens itself.
    void show_token(Login login);

    /// Only the first right again.
    void forget_scopes();

    /// Sends and answers 401 with what the registry wants; tries again at 429 and 5xx and when
    /// the connection breaks, unless `retry` is kNever. kEnvironment: not reachable, not allowed.
    [[nodiscard]] Result<HttpResponse> send(HttpRequest request, Retry retry = Retry::kOnFailure);
    /// Before a request with a long body: a token that will not end while it begins.
    [[nodiscard]] Result<void> renew();
    /// Waits before attempt `attempt` (from 1); false: there were enough.
    [[nodiscard]] bool
    wait_for(unsigned attempt, const HttpResponse& answer, const std::string& what);
    /// An answer that is not what was asked for, as a person reads it.
    [[nodiscard]] Error refusal(const HttpResponse& answer, const std::string& what) const;

    [[nodiscard]] const Access& access() const {
        return access_;
    }

private:
    enum class Scheme { kUnknown, kNone, kBasic, kBearer };
    struct Token {
        std::string value;
        std::int64_t until = 0;
    };
    [[nodiscard]] Result<HttpResponse> send_named(HttpRequest request, Retry retry);
    Result<void> find_out(const Challenge& challenge);
    Result<void> fetch_token();
    HttpRequest token_request() const;
    Result<void> load_login();
    void authorize(HttpRequest& request) const;
    [[nodiscard]] Result<void> check_origin(const HttpResponse& answer) const;
    Result<void> load_token_login();
    [[nodiscard]] Error withheld() const;
    [[nodiscard]] Error told(const Error& failure) const;
    [[nodiscard]] bool speaks_plain(const Error& failure) const;
    bool turn_plain(const HttpResponse& answer, HttpRequest& request);
    [[nodiscard]] Error denied(const HttpResponse& answer) const;

    const HttpClient& client_;
    Access access_;
    const Environment& environment_;
    Reference reference_;
    std::string first_scope_;
    std::string scopes_; ///< separated by blanks
    Scheme scheme_ = Scheme::kUnknown;
    Challenge challenge_;
    std::optional<Login> login_;       ///< of the registry
    std::optional<Login> token_login_; ///< what its token server is shown
    std::string basic_;                ///< `Basic …` of the login
    bool has_login_ = false;           ///< looked for
    bool is_library_ = false;          ///< hands out no tokens
    Token token_;
};

/// Statuses that may be better another time.
[[nodiscard]] bool is_passing(int status);

} // namespace cybele::registry
