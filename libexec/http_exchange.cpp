// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_exchange.hpp"

#include "libexec/http_transfer.hpp"

#include <algorithm>
#include <memory>
#include <tuple>

#include <curl/curl.h>

namespace cybele::http {

namespace {

/// What decides who gets credentials.
struct Origin {
    std::string scheme;
    std::string host;
    std::string port;
    bool has_user = false;

    bool operator==(const Origin& other) const {
        return std::tie(scheme, host, port) == std::tie(other.scheme, other.host, other.port);
    }
};

class Url {
public:
    Url() : handle_(curl_url(), curl_url_cleanup) {}

    /// Absolute, or relative to what it is.
    [[nodiscard]] bool set(const std::string& text) {
        return handle_ != nullptr &&
               curl_url_set(handle_.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
    }
    [[nodiscard]] std::string part(CURLUPart which, unsigned flags = 0) const {
        char* text = nullptr;
        if (curl_url_get(handle_.get(), which, &text, flags) != CURLUE_OK) {
            return {};
        }
        const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
        return text;
    }
    [[nodiscard]] Origin origin() const {
        std::string host = part(CURLUPART_HOST);
        std::transform(host.begin(), host.end(), host.begin(), [](char letter) {
            return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        });
        return {part(CURLUPART_SCHEME),
                std::move(host),
                part(CURLUPART_PORT, CURLU_DEFAULT_PORT),
                !part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty()};
    }

private:
    std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> handle_;
};

Answer refused(std::string kind, std::string message) {
    Answer answer;
    answer.failure = Failure{std::move(kind), std::move(message)};
    return answer;
}

/// Why a URL is not asked; empty: it may be.
std::string judge(const Origin& origin, const Request& request, bool came_from_https) {
    if (origin.scheme != "https" && origin.scheme != "http") {
        return "only http: and https: are known";
    }
    if (origin.has_user) {
        return "it has a user name or a password in it";
    }
    if (origin.scheme == "http" && came_from_https) {
        return "the server sends from https: on to http:, where nothing proves who answers";
    }
    if (origin.scheme == "http" && !request.access.allows_plain) {
        return "it is http:, where nothing proves who answers";
    }
    return {};
}

/// RFC 9110 section 15.4: 303 asks by GET, and so do 301 and 302 after POST.
void change_method(Hop& hop, int status) {
    const bool becomes_get = (status == 303 && hop.method != "HEAD") ||
                             ((status == 301 || status == 302) && hop.method == "POST");
    if (becomes_get) {
        hop.method = "GET";
        hop.has_body = false;
    }
}

bool begins_with_content(const std::string& name) {
    constexpr std::string_view kPrefix = "content-";
    return name.size() >= kPrefix.size() &&
           std::equal(kPrefix.begin(), kPrefix.end(), name.begin(), [](char lower, char letter) {
               return lower == letter || (letter >= 'A' && letter <= 'Z' && lower == letter + 32);
           });
}

Headers headers_for(const Request& request, const Hop& hop, bool is_first_origin) {
    Headers headers;
    for (const auto& header : request.headers) {
        // They describe a body.
        if (hop.has_body || !begins_with_content(header.first) || hop.method == request.method) {
            headers.push_back(header);
        }
    }
    if (is_first_origin) {
        headers.insert(headers.end(), request.credentials.begin(), request.credentials.end());
    }
    return headers;
}

} // namespace

Answer exchange(const Request& request) {
    Url url;
    if (!url.set(request.url)) {
        return refused("url", "it is not a URL");
    }
    const Origin first = url.origin();
    const bool sends = request.method == "PUT" || request.method == "POST" ||
                       request.method == "PATCH" || !request.body.bytes.empty() ||
                       !request.body.file.empty();
    Hop hop{request.method, {}, {}, sends && request.method != "GET" && request.method != "HEAD"};
    bool came_from_https = false;
    for (int redirects = 0;; ++redirects) {
        const Origin origin = url.origin();
        if (std::string because = judge(origin, request, came_from_https); !because.empty()) {
            return refused("url", std::move(because));
        }
        hop.url = url.part(CURLUPART_URL);
        hop.headers = headers_for(request, hop, origin == first);
        Answer answer = transfer(request, hop);
        const std::string location = value_of(answer.headers, "location");
        if (answer.failure || request.limits.redirects == 0 || !is_redirect(answer.status) ||
            location.empty()) {
            return answer;
        }
        if (redirects == request.limits.redirects) {
            return refused("redirects",
                           "it leads on more than " + std::to_string(redirects) + " times");
        }
        came_from_https = origin.scheme == "https";
        change_method(hop, answer.status);
        if (!url.set(location)) {
            return refused("url", "the server redirects to something that is not a URL");
        }
    }
}

} // namespace cybele::http
