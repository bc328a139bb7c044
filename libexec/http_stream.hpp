// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libexec/http_request.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <curl/curl.h>

namespace cybele::http {

/// What all exchanges of a session share until it is replaced.
struct SessionSettings {
    std::string ca;          ///< PEM text; empty: ca_file
    std::string ca_file;     ///< empty: the system's certificates
    std::string certificate; ///< PEM text of the client; empty: none
    std::string key;
    std::string proxy;      ///< empty: as the environment says
    std::string connect_to; ///< HOST:PORT:HOST:PORT of libcurl's CURLOPT_CONNECT_TO; empty: none
    bool is_insecure = false;
};

/// One exchange of a session.
class Stream {
public:
    using Write = std::function<void(const std::string&)>;

    Stream(Request request, std::shared_ptr<const SessionSettings> settings, Write write);
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /// The handle, ready for a multi handle; null: libcurl does not accept the request.
    [[nodiscard]] CURL* handle();
    /// The last line about it.
    void finish(CURLcode code);

private:
    using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

    bool append(List& list, const std::string& line);
    bool set_options();
    bool set_method();
    bool set_security();
    bool set_limits();
    template <class Value>
    bool set(CURLoption option, Value value) {
        return curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
    }
    std::size_t take_header(std::string_view line);
    std::size_t take_body(std::string_view piece);
    bool take_lines(std::string_view piece);
    std::size_t refuse_size();
    [[nodiscard]] bool has_lines() const {
        return request_.session.is_stream && answer_.status == 200;
    }

    Request request_;
    std::shared_ptr<const SessionSettings> settings_;
    Write write_;
    List headers_{nullptr, curl_slist_free_all};
    List connect_to_{nullptr, curl_slist_free_all};
    std::array<char, CURL_ERROR_SIZE> message_{};
    Answer answer_;
    std::string line_; ///< the begun one
    /// The last member: it refers to the others.
    std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_;
};

} // namespace cybele::http
