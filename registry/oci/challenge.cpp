// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/challenge.hpp"

#include <algorithm>

namespace cybele::registry {

namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return result;
}

std::string_view trim(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t,"), text.size());
    return text.substr(begin);
}

/// A word, or a text in quotes; what follows stays in `rest`.
std::string take_value(std::string_view& rest) {
    std::string value;
    if (!rest.starts_with('"')) {
        const std::size_t end = std::min(rest.find_first_of(", \t"), rest.size());
        value = rest.substr(0, end);
        rest = rest.substr(end);
        return value;
    }
    std::size_t at = 1;
    for (; at < rest.size() && rest[at] != '"'; ++at) {
        if (rest[at] == '\\' && at + 1 < rest.size()) {
            ++at;
        }
        value += rest[at];
    }
    rest = rest.substr(std::min(at + 1, rest.size()));
    return value;
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

} // namespace

Challenge read_challenge(std::string_view header) {
    Challenge challenge;
    std::string_view rest = trim(header);
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    challenge.scheme = lower(rest.substr(0, blank));
    rest = trim(rest.substr(blank));
    while (!rest.empty()) {
        const std::size_t equals = rest.find('=');
        const std::string_view name = rest.substr(0, equals);
        if (equals == std::string_view::npos || name.find(' ') != std::string_view::npos) {
            break; // the next challenge
        }
        rest = rest.substr(equals + 1);
        std::string value = take_value(rest);
        challenge.parameters.emplace(lower(name), std::move(value));
        rest = trim(rest);
    }
    return challenge;
}

std::string_view origin_of(std::string_view url) {
    const std::size_t scheme = url.find("://");
    return scheme == std::string_view::npos ? std::string_view()
                                            : url.substr(0, url.find_first_of("/?#", scheme + 3));
}

namespace {

std::string_view authority_of(std::string_view url) {
    const std::string_view origin = origin_of(url);
    return origin.empty() ? url.substr(0, url.find_first_of("/?#"))
                          : origin.substr(origin.find("://") + 3);
}

/// Behind the host's last colon that is not of an IPv6 address.
std::size_t port_at(std::string_view authority) {
    const std::size_t colon = authority.rfind(':');
    const std::size_t bracket = authority.rfind(']');
    const bool is_port =
        colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon);
    return is_port ? colon : authority.size();
}

/// What other hosts of the same owner end with: without the first label, where more than a top
/// level is left.
std::string_view domain_of(std::string_view host) {
    constexpr std::size_t kShortLabel = 3; ///< co.uk, com.au, ac.jp
    const std::size_t dot = host.find('.');
    if (dot == std::string_view::npos) {
        return host;
    }
    const std::string_view rest = host.substr(dot + 1);
    const std::size_t next = rest.find('.');
    const bool is_top =
        next == std::string_view::npos ||
        (next <= kShortLabel && rest.find('.', next + 1) == std::string_view::npos &&
         rest.size() - next - 1 == 2);
    return is_top ? host : rest;
}

} // namespace

std::string host_name(std::string_view url) {
    const std::string_view authority = authority_of(url);
    return lower(authority.substr(0, port_at(authority)));
}

bool is_same_origin(std::string_view a, std::string_view b) {
    const auto spelled = [](std::string_view url) {
        const std::string_view authority = authority_of(url);
        const std::string scheme = lower(url.substr(0, url.find("://")));
        const std::size_t at = port_at(authority);
        const std::string port = at == authority.size() ? scheme == "http" ? ":80" : ":443"
                                                        : std::string(authority.substr(at));
        return scheme + "://" + host_name(url) + port;
    };
    return !origin_of(a).empty() && !origin_of(b).empty() && spelled(a) == spelled(b);
}

bool is_of_registry(std::string_view realm, std::string_view registry) {
    const std::string asked = host_name(realm);
    const std::string host = host_name(registry);
    if (asked.empty() || asked == host) {
        return asked == host && !host.empty();
    }
    const bool is_name = asked.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") ==
                         std::string::npos; // and nothing that clients read in different ways
    const bool is_address = host.find(':') != std::string::npos ||
                            host.find_first_not_of("0123456789.") == std::string::npos;
    const std::string_view domain = domain_of(host);
    return is_name && !is_address && host.find('.') != std::string::npos &&
           (asked == domain || asked.ends_with("." + std::string(domain)));
}

std::string resolve_location(std::string_view location, std::string_view url) {
    if (!origin_of(location).empty()) {
        return std::string(location);
    }
    const std::string_view origin = origin_of(url);
    if (location.starts_with("//")) {
        return std::string(url.substr(0, url.find(':') + 1)).append(location);
    }
    if (location.starts_with('/')) {
        return std::string(origin).append(location);
    }
    const std::string_view path = url.substr(0, url.find_first_of("?#"));
    const std::size_t slash = path.rfind('/');
    return std::string(path.substr(0, std::max(slash + 1, origin.size()))).append(location);
}

std::string next_page(std::string_view link, std::string_view url) {
    const std::size_t end = link.find('>');
    const bool has_next = link.starts_with('<') && end != std::string_view::npos &&
                          link.find("next", end) != std::string_view::npos;
    return has_next ? resolve_location(link.substr(1, end - 1), url) : std::string();
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    constexpr unsigned kLow = 0xf;
    std::string encoded;
    for (const char c : text) {
        if (is_plain(c)) {
            encoded += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            encoded += '%';
            encoded += kDigits[byte >> 4U];
            encoded += kDigits[byte & kLow];
        }
    }
    return encoded;
}

std::string with_parameter(std::string url, std::string_view name, std::string_view value) {
    url += url.find('?') == std::string::npos ? '?' : '&';
    url.append(name).append("=").append(percent_encode(value));
    return url;
}

} // namespace cybele::registry
