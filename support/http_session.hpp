// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/file.hpp"
#include "support/http.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/types.h>

/// Many HTTP exchanges over one process and over connections that stay open, HTTP/2 where the
/// server offers it: the lasting form of `cybelectl-http` (libexec/http_session.hpp). Nothing here
/// blocks and nothing needs a thread: the caller polls one descriptor.
namespace cybele {

/// Holds for the exchanges that are sent after it. Certificates travel through the pipe only,
/// never as arguments and never as files.
struct HttpSessionSettings {
    std::string ca;                ///< PEM text; empty: ca_file
    std::filesystem::path ca_file; ///< empty: the system's certificates
    std::string certificate;       ///< PEM text of the client; empty: none
    std::string key;               ///< PEM text
    std::string proxy;             ///< URL; empty: http_proxy, https_proxy and no_proxy decide
    /// HOST:PORT:ADDRESS:PORT: connects to ADDRESS for URLs of HOST, whose name the server's
    /// certificate must have.
    std::string connect_to;
    bool is_insecure = false; ///< the server's certificate is not verified
};

/// One exchange of a session. Redirects are not followed.
struct HttpCall {
    std::string method = "GET";
    std::string url;
    std::vector<HttpHeader> headers;
    std::vector<HttpHeader> credentials;
    std::string body;
    std::filesystem::path unix_socket;
    std::chrono::milliseconds connect_limit{10'000};
    std::chrono::milliseconds limit{60'000}; ///< of the complete exchange; 0: none
    std::chrono::seconds stall_limit{0};     ///< ends an exchange that is silent this long; 0: none
    /// Of the body, after decompression; of one line where it is streamed.
    std::uint64_t maximum_size = std::uint64_t{16} << 20U;
    bool is_stream = false;     ///< the body of a 200 comes line by line, as it is received
    bool is_compressed = false; ///< asks for gzip
    bool allows_plain = false;
};

struct HttpEvent {
    enum class Kind {
        kStart, ///< the answer to a streamed exchange begins: status and headers
        kLine,  ///< `text` is one complete line of its body, without its end
        kEnd,   ///< the end: `failure`, or the answer
    };

    Kind kind = Kind::kEnd;
    std::uint64_t id = 0;
    int status = 0;
    std::vector<HttpHeader> headers; ///< names in lower case
    std::string text;                ///< the line, or the body of an exchange that is not streamed
    std::optional<Error> failure;
    bool is_passing = false; ///< the failure may not occur again: no connection, no answer in time
    bool is_too_large = false;
    bool is_untrusted = false; ///< the server's certificate is not trusted

    /// The first header of that name (in lower case); empty: none.
    [[nodiscard]] std::string_view header(std::string_view name) const;
};

class HttpSession {
public:
    /// Starts the helper that `client` found.
    [[nodiscard]] static Result<HttpSession> start(const HttpClient& client,
                                                   const HttpSessionSettings& settings);
    HttpSession(HttpSession&& other) noexcept;
    HttpSession& operator=(HttpSession&&) = delete;
    HttpSession(const HttpSession&) = delete;
    HttpSession& operator=(const HttpSession&) = delete;
    /// Ends the helper and with it all exchanges.
    ~HttpSession();

    void configure(const HttpSessionSettings& settings);
    /// Starts an exchange; its number is in all of its events, of which the last is kEnd.
    [[nodiscard]] std::uint64_t send(const HttpCall& call);
    /// Ends an exchange early: no more events of it.
    void end(std::uint64_t id);

    /// What to poll for: call take() when it is ready.
    [[nodiscard]] pollfd wait() const;
    /// Moves what can be moved now, without blocking. When the helper has ended, each exchange
    /// that is open ends with a failure.
    [[nodiscard]] std::vector<HttpEvent> take();
    /// False when the helper has ended: start another session.
    [[nodiscard]] bool is_alive() const {
        return socket_.valid();
    }
    /// The helper's process.
    [[nodiscard]] pid_t process() const {
        return process_;
    }

private:
    HttpSession(UniqueFd socket, pid_t process, Environment environment);
    void write(const std::string& line);
    void push();
    void lose(const std::string& because, std::vector<HttpEvent>& events);
    void take_line(std::string_view line, std::vector<HttpEvent>& events);

    UniqueFd socket_;
    pid_t process_ = -1;
    Environment environment_;
    std::string output_; ///< not written yet
    std::string input_;  ///< the begun line
    std::size_t searched_ = 0;
    std::uint64_t last_id_ = 0;
    std::map<std::uint64_t, std::string> urls_; ///< of the exchanges that are open
    std::string lost_;                          ///< why the helper is gone
};

} // namespace cybele
