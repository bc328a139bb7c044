// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// One exchange as the client (support/http.hpp, which says what the fields mean) asks for it.
namespace cybele::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// What is sent: `bytes`, or a part of a file.
struct Body {
    std::string bytes;
    std::string file; ///< empty: `bytes`
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> size;
};

/// Where the body of the answer goes.
struct Output {
    std::string path; ///< empty: into the answer
    bool is_resumed = false;
    bool is_hashed = false;
};

struct Limits {
    std::int64_t connect_ms = 0;
    std::int64_t exchange_ms = 0;
    std::int64_t stall_s = 0;
    std::uint64_t answer_size = 0;
    int redirects = 0;
};

/// How the server is reached.
struct Access {
    std::string ca_file;
    std::string unix_socket;
    bool allows_plain = false;
};

/// Of a request of a session only (http_session.hpp).
struct SessionPart {
    std::uint64_t id = 0;
    bool is_stream = false;     ///< the body of a 200 is passed on line by line
    bool is_compressed = false; ///< asks for gzip
};

struct Request {
    std::string method;
    std::string url;
    Headers headers;
    Headers credentials;
    Body body;
    Output output;
    bool tells_progress = false;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> range;
    Access access;
    Limits limits;
    SessionPart session;
};

/// Why there is no answer; the client has a remedy for each kind.
struct Failure {
    std::string kind; ///< as the rows of kHttpFaults (support/http.cpp)
    std::string message;
};

struct Answer {
    std::optional<Failure> failure;
    int status = 0;
    Headers headers; ///< names in lower case
    std::string body;
    std::uint64_t size = 0;
    std::string sha256; ///< of the whole output file, where that was asked for
    std::string url;
};

/// Reads and checks the JSON object; a failure of kind "request" where it is none, or where a
/// header could smuggle a line.
[[nodiscard]] std::optional<Failure> read_request(std::string_view text, Request& request);
/// One JSON object and a newline.
[[nodiscard]] std::string write_answer(const Answer& answer);

/// A line that says how far the transfer is.
[[nodiscard]] std::string write_progress(std::uint64_t done, std::uint64_t total);

[[nodiscard]] std::string encode_base64(std::string_view bytes);
/// Padded standard alphabet, as encode_base64() writes it; unset for anything else.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

} // namespace cybele::http
