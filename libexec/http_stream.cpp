// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_stream.hpp"

#include "libexec/http_transfer.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace cybele::http {

namespace {

/// A peer that stops acknowledging ends its connection after this time; keep-alive probes find
/// one that vanished while nothing was sent.
constexpr unsigned kUnacknowledgedMs = 30'000;
constexpr long kIdleSeconds = 20;
constexpr long kProbeSeconds = 10;

int limit_silence(void* /*self*/, curl_socket_t socket, curlsocktype /*purpose*/) {
    const unsigned limit = kUnacknowledgedMs;
    // Not a TCP socket: without it.
    (void)::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
    return CURL_SOCKOPT_OK;
}

curl_blob blob_of(const std::string& text) {
    return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY}; // NOLINT: libcurl's
}

std::string id_text(std::uint64_t id) {
    return "{\"id\":" + std::to_string(id) + ",";
}

} // namespace

Stream::Stream(Request request, std::shared_ptr<const SessionSettings> settings, Write write)
    : request_(std::move(request)), settings_(std::move(settings)), write_(std::move(write)),
      easy_(curl_easy_init(), curl_easy_cleanup) {}

CURL* Stream::handle() {
    return easy_ != nullptr && set_options() ? easy_.get() : nullptr;
}

bool Stream::append(List& list, const std::string& line) {
    curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) {
        return false;
    }
    (void)list.release();
    list.reset(longer);
    return true;
}

bool Stream::set_method() {
    if (request_.method == "HEAD") {
        return set(CURLOPT_NOBODY, 1L);
    }
    const bool has_body = !request_.body.bytes.empty() || request_.method == "POST" ||
                          request_.method == "PUT" || request_.method == "PATCH";
    return (!has_body || (set(CURLOPT_POSTFIELDSIZE_LARGE,
                              static_cast<curl_off_t>(request_.body.bytes.size())) &&
                          set(CURLOPT_POSTFIELDS, request_.body.bytes.data()))) &&
           set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
}

bool Stream::set_security() {
    bool done = set(CURLOPT_PROTOCOLS_STR, request_.access.allows_plain ? "http,https" : "https") &&
                set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
                set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L) &&
                set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    if (!settings_->ca.empty()) {
        curl_blob ca = blob_of(settings_->ca);
        // The folder of the system's certificates would be trusted in addition.
        done = done && set(CURLOPT_CAINFO_BLOB, &ca) && set(CURLOPT_CAPATH, nullptr);
    } else if (!settings_->ca_file.empty()) {
        done = done && set(CURLOPT_CAINFO, settings_->ca_file.c_str());
    }
    if (!settings_->certificate.empty()) {
        curl_blob certificate = blob_of(settings_->certificate);
        curl_blob key = blob_of(settings_->key);
        // An empty passphrase: OpenSSL would ask a terminal for that of an encrypted key.
        done = done && set(CURLOPT_SSLCERT_BLOB, &certificate) && set(CURLOPT_SSLKEY_BLOB, &key) &&
               set(CURLOPT_SSLCERTTYPE, "PEM") && set(CURLOPT_SSLKEYTYPE, "PEM") &&
               set(CURLOPT_KEYPASSWD, "");
    }
    if (settings_->is_insecure) {
        done = done && set(CURLOPT_SSL_VERIFYPEER, 0L) && set(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (!settings_->proxy.empty()) {
        done = done && set(CURLOPT_PROXY, settings_->proxy.c_str());
    }
    if (!settings_->connect_to.empty()) {
        done = done && append(connect_to_, settings_->connect_to) &&
               set(CURLOPT_CONNECT_TO, connect_to_.get());
    }
    return done;
}

bool Stream::set_limits() {
    bool done = set(CURLOPT_CONNECTTIMEOUT_MS, request_.limits.connect_ms) &&
                set(CURLOPT_TIMEOUT_MS, request_.limits.exchange_ms) &&
                set(CURLOPT_TCP_KEEPALIVE, 1L) && set(CURLOPT_TCP_KEEPIDLE, kIdleSeconds) &&
                set(CURLOPT_TCP_KEEPINTVL, kProbeSeconds) &&
                set(CURLOPT_SOCKOPTFUNCTION, &limit_silence) && set(CURLOPT_PIPEWAIT, 1L);
    if (request_.limits.stall_s > 0) {
        done = done && set(CURLOPT_LOW_SPEED_LIMIT, 1L) &&
               set(CURLOPT_LOW_SPEED_TIME, request_.limits.stall_s);
    }
    return done;
}

bool Stream::set_options() {
    bool done = append(headers_, "Expect:");
    for (const Headers* const headers : {&request_.headers, &request_.credentials}) {
        for (const auto& [name, value] : *headers) {
            std::string line = name;
            line += value.empty() ? ";" : ": ";
            done = done && append(headers_, line += value);
        }
    }
    done = done && set_method() && set_security() && set_limits() &&
           set(CURLOPT_HTTPHEADER, headers_.get()) && set(CURLOPT_URL, request_.url.c_str()) &&
           set(CURLOPT_USERAGENT, "cybelectl/" CYBELE_VERSION) && set(CURLOPT_NOSIGNAL, 1L) &&
           set(CURLOPT_FOLLOWLOCATION, 0L) && set(CURLOPT_ERRORBUFFER, message_.data()) &&
           set(CURLOPT_PRIVATE, static_cast<void*>(this));
    if (!request_.access.unix_socket.empty()) {
        done = done && set(CURLOPT_UNIX_SOCKET_PATH, request_.access.unix_socket.c_str());
    }
    if (request_.session.is_compressed) {
        done = done && set(CURLOPT_ACCEPT_ENCODING, "gzip");
    }
    using Callback = std::size_t (*)(char*, std::size_t, std::size_t, void*);
    const Callback on_header = [](char* data, std::size_t, std::size_t size, void* self) {
        return static_cast<Stream*>(self)->take_header({data, size});
    };
    const Callback on_body = [](char* data, std::size_t, std::size_t size, void* self) {
        return static_cast<Stream*>(self)->take_body({data, size});
    };
    return done && set(CURLOPT_HEADERFUNCTION, on_header) &&
           set(CURLOPT_HEADERDATA, static_cast<void*>(this)) &&
           set(CURLOPT_WRITEFUNCTION, on_body) && set(CURLOPT_WRITEDATA, static_cast<void*>(this));
}

std::size_t Stream::take_header(std::string_view line) {
    take_header_line(line, answer_.status, answer_.headers);
    if ((line == "\r\n" || line == "\n") && has_lines()) {
        const nlohmann::json headers = answer_.headers;
        write_(id_text(request_.session.id) + "\"start\":200,\"headers\":" +
               headers.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "}\n");
    }
    return line.size();
}

std::size_t Stream::refuse_size() {
    answer_.failure = Failure{"too-large",
                              "the answer is larger than " +
                                  std::to_string(request_.limits.answer_size) + " bytes"};
    return 0;
}

bool Stream::take_lines(std::string_view piece) {
    for (std::size_t end = 0; (end = piece.find('\n')) != std::string_view::npos;) {
        if (line_.size() + end > request_.limits.answer_size) {
            return false;
        }
        line_.append(piece.substr(0, end));
        write_(id_text(request_.session.id) + "\"line\":\"" + encode_base64(line_) + "\"}\n");
        line_.clear();
        piece.remove_prefix(end + 1);
    }
    line_.append(piece);
    return line_.size() <= request_.limits.answer_size;
}

std::size_t Stream::take_body(std::string_view piece) {
    answer_.size += piece.size();
    if (has_lines()) {
        return take_lines(piece) ? piece.size() : refuse_size();
    }
    if (answer_.size > request_.limits.answer_size) {
        return refuse_size();
    }
    answer_.body.append(piece);
    return piece.size();
}

void Stream::finish(CURLcode code) {
    if (code != CURLE_OK && !answer_.failure) {
        const char* const words = message_[0] != '\0' ? message_.data() : curl_easy_strerror(code);
        answer_.failure = Failure{failure_kind(code, words), words};
    }
    answer_.url = request_.url;
    // A begun last line is not a line: its end may be missing.
    write_(id_text(request_.session.id) + write_answer(answer_).substr(1));
}

} // namespace cybele::http
