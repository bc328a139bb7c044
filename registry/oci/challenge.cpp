// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/challenge.hpp"

#include "support/encoding.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::registry {

namespace {

/// Without the blanks before it.
std::string_view trim(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
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

/// The equals sign after a parameter's name. The `=` at the end of a token68, as Negotiate sends
/// it, has no value after it.
bool has_value(std::string_view after_name) {
    const std::string_view sign = trim(after_name);
    const std::string_view value = sign.starts_with('=') ? trim(sign.substr(1)) : "";
    return !value.empty() && value.front() != '=' && value.front() != ',';
}

/// `name = value` of the last challenge; false: the text begins with something else.
bool take_parameter(std::string_view& rest, Challenge& challenge) {
    const std::size_t end = std::min(rest.find_first_of(" \t,=\""), rest.size());
    const std::string_view after = rest.substr(end);
    if (end == 0 || !has_value(after)) {
        return false;
    }
    std::string name = text::lowered(rest.substr(0, end));
    rest = trim(trim(after).substr(1));
    challenge.parameters.emplace(std::move(name), take_value(rest));
    return true;
}

} // namespace

std::vector<Challenge> read_challenges(std::string_view header) {
    std::vector<Challenge> challenges;
    bool is_after_scheme = false; // where a token68 may be instead of parameters
    for (std::string_view rest = trim(header); !rest.empty(); rest = trim(rest)) {
        if (rest.front() == ',') {
            rest.remove_prefix(1);
            is_after_scheme = false;
        } else if (!challenges.empty() && take_parameter(rest, challenges.back())) {
            is_after_scheme = false;
        } else {
            const std::size_t end = std::max<std::size_t>(rest.find_first_of(" \t,"), 1);
            if (!is_after_scheme) {
                challenges.push_back({text::lowered(rest.substr(0, end)), {}});
            }
            is_after_scheme = !is_after_scheme;
            rest = rest.substr(std::min(end, rest.size()));
        }
    }
    return challenges;
}

Challenge choose_challenge(const std::vector<Challenge>& challenges) {
    for (const std::string_view scheme : {"bearer", "basic"}) {
        for (const Challenge& challenge : challenges) {
            if (challenge.scheme == scheme &&
                (scheme != "bearer" || !challenge.get("realm").empty())) {
                return challenge;
            }
        }
    }
    return challenges.empty() ? Challenge() : challenges.front();
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
    return text::lowered(authority.substr(0, port_at(authority)));
}

bool is_same_origin(std::string_view a, std::string_view b) {
    const auto spelled = [](std::string_view url) {
        const std::string_view authority = authority_of(url);
        const std::string scheme = text::lowered(url.substr(0, url.find("://")));
        const std::size_t at = port_at(authority);
        const std::string port = at == authority.size() ? scheme == "http" ? ":80" : ":443"
                                                        : std::string(authority.substr(at));
        return scheme + "://" + host_name(url) + port;
    };
    return !origin_of(a).empty() && !origin_of(b).empty() && spelled(a) == spelled(b);
}

bool is_of_registry(std::string_view realm, std::string_view registry) {
    if (is_same_origin(realm, registry)) {
        return true;
    }
    const std::string asked = host_name(realm);
    const std::string host = host_name(registry);
    const bool is_name = asked.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") ==
                         std::string::npos; // and nothing that clients read in different ways
    const bool is_address = host.find(':') != std::string::npos ||
                            host.find_first_not_of("0123456789.") == std::string::npos;
    const std::string_view domain = domain_of(host);
    return is_same_origin(realm, "https://" + asked) && is_name && !is_address &&
           host.find('.') != std::string::npos &&
           (asked == domain || asked == host || asked.ends_with("." + std::string(domain)));
}

std::string kept_host(std::string_view url) {
    const std::string_view authority = authority_of(url);
    const bool is_usual = is_same_origin(url, "https://" + host_name(url)) ||
                          is_same_origin(url, "http://" + host_name(url));
    return is_usual ? host_name(url) : text::lowered(authority);
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

std::string with_parameter(std::string url, std::string_view name, std::string_view value) {
    url += url.find('?') == std::string::npos ? '?' : '&';
    url.append(name).append("=").append(percent_encoded(value));
    return url;
}

} // namespace cybele::registry
