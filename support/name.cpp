// SPDX-License-Identifier: Apache-2.0
#include "support/name.hpp"

#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

namespace cybele {
namespace {

constexpr std::size_t kLongestName = 50;
constexpr std::array<std::string_view, 3> kSchemes{"docker", "library", "oras"};

bool is_store_word(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return is_alphanumeric(c) || c == '.' || c == '_' || c == '-' || c == '/';
    });
}

std::string store_fault(std::string_view text, std::string& help) {
    const auto colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const bool has_tag = colon != std::string_view::npos;
    if (!is_store_word(name) || (has_tag && !is_store_word(text.substr(colon + 1)))) {
        help = "write for example `store:app:1`";
        return "a name in the store has letters, digits, `.`, `_`, `-` and `/`";
    }
    return {};
}

} // namespace

bool is_name(std::string_view text) {
    if (text.empty() || text.size() > kLongestName || !is_lower(text.front()) ||
        text.back() == '-') {
        return false;
    }
    return std::ranges::all_of(text, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

std::string suggest_name(std::string_view text) {
    std::string name;
    for (const char c : text) {
        if (is_letter(c) || (is_digit(c) && !name.empty())) {
            name += to_lower(c);
        } else if (!name.empty() && name.back() != '-' && !is_digit(c)) {
            name += '-';
        }
    }
    if (name.size() > kLongestName) {
        name.resize(kLongestName);
    }
    while (!name.empty() && name.back() == '-') {
        name.pop_back();
    }
    return name;
}

bool is_variable_name(std::string_view text) {
    if (text.empty() || is_digit(text.front())) {
        return false;
    }
    return std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '_'; });
}

bool is_ip_address(const std::string& text) {
    in6_addr read{}; // room for either
    return ::inet_pton(AF_INET, text.c_str(), &read) == 1 ||
           ::inet_pton(AF_INET6, text.c_str(), &read) == 1;
}

bool is_sha256_digest(std::string_view text) {
    constexpr std::string_view kPrefix = "sha256:";
    if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + 64) {
        return false;
    }
    return std::all_of(text.begin() + kPrefix.size(), text.end(), [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'f');
    });
}

std::string image_reference_fault(std::string_view text, std::string& help) {
    if (const auto at = text.find("@sha256:"); at != std::string_view::npos) {
        if (!is_sha256_digest(text.substr(at + 1))) {
            help = "copy the digest as `cybelectl inspect` or the registry prints it";
            return "`@sha256:` is followed by 64 lower-case hexadecimal digits";
        }
        text = text.substr(0, at);
    }
    if (text.empty()) {
        help = "write a path such as `image.sif`";
        return "it names no image";
    }
    if (text.starts_with("store:")) {
        return store_fault(text.substr(6), help);
    }
    const auto scheme = text.find("://");
    if (scheme == std::string_view::npos) {
        return {};
    }
    const std::string_view name = text.substr(0, scheme);
    if (name == "shub") {
        help = "look for the image in another registry, or build it from its definition file";
        return "Singularity Hub was closed in April 2021";
    }
    if (!contains(kSchemes, name)) {
        const std::string near = nearest(name, kSchemes);
        help = near.empty() ? "write `oras" + std::string(text.substr(scheme)) +
                                  "`, or download the file and name its path"
                            : "did you mean `" + near + "://`?";
        return "`" + std::string(name) + "://` is not a known transport";
    }
    const std::string_view rest = text.substr(scheme + 3);
    if (rest.empty() || rest.find(' ') != std::string_view::npos || rest.front() == '/') {
        help = "write for example `" + std::string(name) + "://example.org/app:1`";
        return "no name of an image follows `" + std::string(name) + "://`";
    }
    return {};
}

bool is_secret_name(std::string_view text) {
    constexpr std::array<std::string_view, 9> kEnds = {"token",
                                                       "password",
                                                       "passwd",
                                                       "secret",
                                                       "api_key",
                                                       "apikey",
                                                       "access_key",
                                                       "private_key",
                                                       "credentials"};
    const std::string name = text::lowered(text);
    return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

bool is_switch(std::string_view value) {
    constexpr std::array<std::string_view, 10> kSwitches = {
        "yes", "no", "true", "false", "on", "off", "0", "1", "none", "null"};
    return contains(kSwitches, text::lowered(value));
}

} // namespace cybele
