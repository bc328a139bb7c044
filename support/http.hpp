// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// HTTP by the helper program `cybelectl-http` (libexec/README.md): cybelectl itself is fully
/// static and looks up no host names. Requests and answers travel over pipes, so no secret is ever
/// an argument of a process.
namespace cybele {

struct HttpHeader {
    std::string name;
    std::string value;
};

/// Part of a file, for a body that is sent piece by piece.
struct FileRange {
    std::filesystem::path path;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> size; ///< unset: to the end of the file
};

/// Where the body of the answer goes instead of memory.
struct HttpOutput {
    std::filesystem::path path; ///< created with mode 0600; replaces a file unless is_resumed
    /// Goes on behind what the file has: asks for the rest (Range), appends a 206 answer; where the
    /// server sends the whole again (200), the file is written anew.
    bool is_resumed = false;
    bool is_hashed = false; ///< gives HttpResponse::sha256
};

/// How the server is reached and trusted.
struct HttpAccess {
    std::filesystem::path ca_file; ///< PEM; empty: the system's pool
    bool allows_plain = false;     ///< http: too; else it is refused, after a redirect as well
};

/// What an exchange may cost. To connect may always take 10 s.
struct HttpLimits {
    std::chrono::milliseconds exchange{60'000}; ///< the longest time for all of it; 0: no limit
    /// Ends an exchange that moves less than a byte a second for so long; 0: never.
    std::chrono::seconds stall{30};
    std::uint64_t answer_size = std::uint64_t{16} << 20U; ///< bytes of the answer's body
    int redirects = 5;                                    ///< 0: a redirect is the answer
};

/// One exchange, with redirects followed.
struct HttpRequest {
    std::string method = "GET"; ///< GET, HEAD, PUT, POST, PATCH, DELETE
    std::string url;            ///< http: or https:
    std::vector<HttpHeader> headers;
    /// Headers that hold secrets (Authorization, X-SLURM-USER-TOKEN, …): sent to the origin
    /// (scheme, host, port) of `url` only, left out when a redirect leads elsewhere.
    std::vector<HttpHeader> credentials;
    std::string body;                   ///< in memory; or
    std::optional<FileRange> body_file; ///< streamed
    std::optional<HttpOutput> output;   ///< unset: into HttpResponse::body
    /// First and last byte to ask for; an answer that is not exactly a 206 is the caller's to
    /// judge.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> range;
    HttpAccess access;
    HttpLimits limits;
    /// Called now and then with the bytes that were moved and that there are.
    std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;
    /// A transfer that fails is an answer: HttpResponse::failure.
    bool tells_failure = false;
};

struct HttpResponse {
    int status = 0;
    std::vector<HttpHeader> headers; ///< of the last answer; names in lower case
    std::string body;                ///< empty where it went into a file
    std::uint64_t size = 0;          ///< bytes of the body that were received now
    std::string url;                 ///< after redirects
    std::string sha256;              ///< of the whole output file, in hexadecimal
    std::optional<Error> failure;
    bool is_too_large = false; ///< the failure is a body over the limit answer_size
    /// The failure may be another time's luck: no connection, a cut one, no answer in time.
    bool is_passing = false;

    /// The first header of that name (in lower case); empty: none.
    [[nodiscard]] std::string_view header(std::string_view name) const;
};

class HttpClient {
public:
    /// Looks for the helper: $CYBELE_LIBEXEC, `../libexec/cybelectl/` and (in a build tree)
    /// `../libexec/` from the folder of `program`; in absolute folders only, so never in the
    /// current one. A missing one is told by send().
    [[nodiscard]] static HttpClient find(const Environment& environment,
                                         const std::filesystem::path& program);

    /// Any status of HTTP is an answer. kEnvironment: the helper is missing, or the server is not
    /// reachable, does not prove who it is, or is too slow; kInput: a URL that is not allowed, an
    /// answer over the size, too many redirects.
    [[nodiscard]] Result<HttpResponse> send(const HttpRequest& request) const;

    /// The helper's path; kEnvironment where it is missing, does not start, or is of another
    /// version.
    [[nodiscard]] Result<std::filesystem::path> check() const;

    /// How the helper is started, with `argument` where it is not empty.
    [[nodiscard]] Result<Command> command(const std::string& argument = {}) const;
    [[nodiscard]] const Environment& environment() const {
        return environment_;
    }

private:
    [[nodiscard]] Result<void> find_helper() const;
    std::filesystem::path helper_;
    std::vector<std::filesystem::path> looked_in_;
    Environment environment_;
};

/// The system's certificate authorities as one PEM file: $SSL_CERT_FILE, else the first that exists
/// of the places where distributions keep it; empty: none.
[[nodiscard]] std::filesystem::path system_certificates(const Environment& environment);

} // namespace cybele
