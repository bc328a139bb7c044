// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar.hpp"

#include <algorithm>
#include <array>

namespace cybele::definitions {
namespace {

constexpr std::array kHeaderKeys = {
    HeaderKey{"bootstrap", "Bootstrap"},
    HeaderKey{"from", "From"},
    HeaderKey{"stage", "Stage"},
    HeaderKey{"includecmd", "IncludeCmd"},
    HeaderKey{"mirrorurl", "MirrorURL"},
    HeaderKey{"updateurl", "UpdateURL"},
    HeaderKey{"osversion", "OSVersion"},
    HeaderKey{"include", "Include"},
    HeaderKey{"library", "Library"},
    HeaderKey{"registry", "Registry"},
    HeaderKey{"namespace", "Namespace"},
    HeaderKey{"product", "Product"},
    HeaderKey{"user", "User"},
    HeaderKey{"regcode", "Regcode"},
    HeaderKey{"productpgp", "ProductPGP"},
    HeaderKey{"registerurl", "RegisterURL"},
    HeaderKey{"modules", "Modules"},
    HeaderKey{"fingerprints", "Fingerprints"},
    HeaderKey{"confurl", "ConfURL"},
    HeaderKey{"setopt", "Setopt"},
};
constexpr std::string_view kNumberedKey = "otherurl";

constexpr std::array<std::string_view, 11> kSections = {"arguments",
                                                        "pre",
                                                        "setup",
                                                        "files",
                                                        "post",
                                                        "environment",
                                                        "runscript",
                                                        "startscript",
                                                        "test",
                                                        "labels",
                                                        "help"};
constexpr std::array<std::string_view, 8> kAppSections = {
    "appinstall", "applabels", "appfiles", "appenv", "apptest", "apphelp", "apprun", "appstart"};
constexpr std::array<std::string_view, 16> kAgents = {"arch",
                                                      "busybox",
                                                      "debootstrap",
                                                      "dnf",
                                                      "docker",
                                                      "docker-archive",
                                                      "docker-daemon",
                                                      "library",
                                                      "localimage",
                                                      "oci",
                                                      "oci-archive",
                                                      "oras",
                                                      "scratch",
                                                      "shub",
                                                      "yum",
                                                      "zypper"};

/// Blanks beyond ASCII, in UTF-8: NEL, NBSP, Ogham, the general punctuation's, ideographic.
constexpr std::array<std::string_view, 19> kWideBlanks = {"\xC2\x85",
                                                          "\xC2\xA0",
                                                          "\xE1\x9A\x80",
                                                          "\xE2\x80\x80",
                                                          "\xE2\x80\x81",
                                                          "\xE2\x80\x82",
                                                          "\xE2\x80\x83",
                                                          "\xE2\x80\x84",
                                                          "\xE2\x80\x85",
                                                          "\xE2\x80\x86",
                                                          "\xE2\x80\x87",
                                                          "\xE2\x80\x88",
                                                          "\xE2\x80\x89",
                                                          "\xE2\x80\x8A",
                                                          "\xE2\x80\xA8",
                                                          "\xE2\x80\xA9",
                                                          "\xE2\x80\xAF",
                                                          "\xE2\x81\x9F",
                                                          "\xE3\x80\x80"};

} // namespace

std::span<const HeaderKey> header_keys() {
    return kHeaderKeys;
}

bool is_header_key(std::string_view key) {
    const bool known = std::any_of(
        kHeaderKeys.begin(), kHeaderKeys.end(), [&](const HeaderKey& k) { return k.key == key; });
    if (known || !key.starts_with(kNumberedKey)) {
        return known;
    }
    const std::string_view number = key.substr(kNumberedKey.size());
    return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string header_spelling(std::string_view key) {
    for (const HeaderKey& known : kHeaderKeys) {
        if (known.key == key) {
            return std::string(known.spelling);
        }
    }
    if (key.starts_with(kNumberedKey)) {
        return "OtherURL" + std::string(key.substr(kNumberedKey.size()));
    }
    return std::string(key);
}

std::span<const std::string_view> section_names() {
    return kSections;
}

bool is_section(std::string_view name) {
    return std::find(kSections.begin(), kSections.end(), name) != kSections.end();
}

bool is_app_section(std::string_view name) {
    return std::find(kAppSections.begin(), kAppSections.end(), name) != kAppSections.end();
}

std::span<const std::string_view> agents() {
    return kAgents;
}

bool is_agent(std::string_view name) {
    return std::find(kAgents.begin(), kAgents.end(), name) != kAgents.end();
}

std::size_t blank_length(std::string_view text) {
    if (text.empty()) {
        return 0;
    }
    const char first = text.front();
    if (first == ' ' || (first >= '\t' && first <= '\r')) {
        return 1;
    }
    for (const std::string_view blank : kWideBlanks) {
        if (text.starts_with(blank)) {
            return blank.size();
        }
    }
    return 0;
}

std::string_view trim(std::string_view text) {
    while (const std::size_t length = blank_length(text)) {
        text.remove_prefix(length);
    }
    for (bool found = true; found && !text.empty();) {
        found = false;
        for (std::size_t length = 1; length <= 3 && length <= text.size() && !found; ++length) {
            if (blank_length(text.substr(text.size() - length)) == length) {
                text.remove_suffix(length);
                found = true;
            }
        }
    }
    return text;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') {
            c = static_cast<char>(c - 'A' + 'a');
        }
    }
    return result;
}

} // namespace cybele::definitions
