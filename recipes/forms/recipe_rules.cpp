// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"

#include "support/characters.hpp"
#include "support/document_help.hpp"
#include "support/name.hpp"

#include <algorithm>
#include <utility>

namespace cybele::recipes {
namespace {

using document::ValueFault;

/// Begins with a letter or digit; the rest are those or of `others`.
bool is_word_with(std::string_view text, std::string_view others) {
    return !text.empty() && is_alphanumeric(text.front()) && std::ranges::all_of(text, [&](char c) {
        return is_alphanumeric(c) || others.find(c) != std::string_view::npos;
    });
}

/// The text with `-` for each character that such a word does not have.
std::string with_dashes(std::string_view text, std::string_view others) {
    std::string word;
    for (const char c : text) {
        const bool is_good = is_alphanumeric(c) || others.find(c) != std::string_view::npos;
        word += is_good ? std::string(1, c) : word.empty() ? "" : "-";
    }
    return word.empty() ? "example" : word;
}

/// Up to the first blank, without what is no part of a name at its end.
std::string_view first_word(std::string_view text) {
    text = text.substr(0, text.find(' '));
    while (text.size() > 1 && !is_alphanumeric(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

bool is_hex(std::string_view text, std::size_t length) {
    return text.size() == length &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// A release of the distribution that is named without one.
std::string_view release_for(std::string_view name) {
    constexpr std::pair<std::string_view, std::string_view> kCommonReleases[] = {
        {"ubuntu", "ubuntu:24.04"},
        {"rocky", "rocky:9"},
        {"rockylinux", "rocky:9"},
        {"almalinux", "almalinux:9"},
        {"alma", "almalinux:9"},
        {"centos", "rocky:9"},
        {"rhel", "rocky:9"},
        {"fedora", "fedora:44"},
        {"opensuse", "opensuse-leap:16.0"},
        {"opensuse-leap", "opensuse-leap:16.0"},
        {"alpine", "alpine:3.24"},
    };
    const auto* const row =
        std::ranges::find_if(kCommonReleases, [&](const auto& each) { return each.first == name; });
    return row == std::end(kCommonReleases) ? "debian:12" : row->second;
}

} // namespace

ValueFault check_distribution(std::string_view text) {
    const auto colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const bool is_name =
        !name.empty() && is_lower(name.front()) &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos;
    if (is_name && colon != std::string_view::npos && is_word_with(text.substr(colon + 1), ".")) {
        return {};
    }
    const bool is_image = text.find('/') != std::string_view::npos || text.ends_with(".sif");
    return {"a distribution is written with its release, so that the same Recipe gives the same "
            "image",
            is_image ? "write `{image: " + std::string(text) + "}`"
                     : "write for example `" + std::string(release_for(text)) + "`"};
}

ValueFault check_package(std::string_view text) {
    const auto equals = text.find('=');
    const bool has_version = equals != std::string_view::npos;
    if (is_word_with(text.substr(0, equals), "+._-") &&
        (!has_version || is_word_with(text.substr(equals + 1), ".+:~-"))) {
        return {};
    }
    return {"a package is its name, or name and version as `gcc=4:12.2.0-3`",
            text.find(' ') != std::string_view::npos
                ? "write `" + with_dashes(first_word(text), "+._-=:~") +
                      "`, and the rest as items of their own"
                : "write `" + with_dashes(text, "+._-") + "`"};
}

ValueFault check_variable(std::string_view text) {
    if (is_variable_name(text)) {
        return {};
    }
    return {"a variable has letters, digits and `_`, and begins with no digit",
            "write `" + document::suggest_variable(text) + "`"};
}

ValueFault check_argument_name(std::string_view text) {
    if (is_name(text)) {
        return {};
    }
    const std::string better = suggest_name(text);
    return {"arguments are named with small letters, digits and `-`",
            "write `" + (better.empty() ? "example" : better) + "`"};
}

ValueFault check_label(std::string_view text) {
    if (text.starts_with("cybelectl.")) {
        return {"labels that begin with `cybelectl.` are facts that the build writes",
                "choose another name"};
    }
    if (is_word_with(text, "._/-")) {
        return {};
    }
    const std::string_view name = text.substr(0, text.find_first_of("=:\t"));
    const bool has_value = name.size() < text.size() && is_word_with(name, "._/-");
    return {"a label's name has letters, digits, `.`, `_`, `-` and `/`: definition files end it at "
            "a blank",
            has_value ? "name it `" + std::string(name) + "`; what follows is its value"
                      : "write `" + with_dashes(text, "._/-") + "`"};
}

ValueFault check_app(std::string_view text) {
    return is_word_with(text, "._-") ? ValueFault{}
                                     : ValueFault{"an app's name becomes a folder below /scif/apps",
                                                  "write `" + with_dashes(text, "._-") + "`"};
}

ValueFault check_mode(std::string_view text) {
    const std::string_view digits = text.size() == 4 && text.front() == '0' ? text.substr(1) : text;
    if (digits.size() == 3 && digits.find_first_not_of("01234567") == std::string_view::npos) {
        return {};
    }
    return {"a mode is three octal digits, with or without a 0 before them",
            "write `\"0755\"` for a program, `\"0644\"` for other files"};
}

ValueFault check_hex_digest(std::string_view text) {
    return is_hex(text, 64) ? ValueFault{}
                            : ValueFault{"a SHA-256 has 64 lower-case hexadecimal digits",
                                         "copy what `sha256sum FILE` prints"};
}

ValueFault check_digest(std::string_view text) {
    return is_sha256_digest(text)
               ? ValueFault{}
               : ValueFault{"a digest is `sha256:` and 64 lower-case hexadecimal digits",
                            "copy all of it"};
}

ValueFault check_commit(std::string_view text) {
    return is_hex(text, 40) || is_hex(text, 64)
               ? ValueFault{}
               : ValueFault{
                     "a branch or tag moves; only a complete commit names the same source for ever",
                     "copy what `git rev-parse TAG^{commit}` prints"};
}

ValueFault check_lock_line(std::string_view text) {
    std::size_t words = 0;
    std::string_view rest = text;
    std::string_view last;
    while (!rest.empty()) {
        const auto blank = rest.find(' ');
        last = rest.substr(0, blank);
        words += last.empty() ? std::size_t{5} : std::size_t{1};
        rest = blank == std::string_view::npos ? std::string_view{} : rest.substr(blank + 1);
    }
    return words == 4 && is_sha256_digest(last)
               ? ValueFault{}
               : ValueFault{"a line is `name version arch sha256:…`",
                            "write the Lock again with `cybelectl recipe lock`"};
}

ValueFault check_repository_url(std::string_view text) {
    if (text.find('@') != std::string_view::npos) {
        return {"an address with a user or password would be in the image's definition",
                "use a repository that needs none, or a mirror of it"};
    }
    const bool has_scheme =
        text.starts_with("http://") || text.starts_with("https://") || text.starts_with("file:/");
    return has_scheme && text.find_first_of(" \t\"'\\$`") == std::string_view::npos
               ? ValueFault{}
               : ValueFault{"an address begins with https://, http:// or file:/ and has no blanks",
                            "write it as `https://host/folder`"};
}

ValueFault check_fingerprint(std::string_view text) {
    std::size_t digits = 0;
    const bool is_word = std::ranges::all_of(text, [&](char c) {
        digits += c == ' ' ? 0 : 1;
        return c == ' ' || is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
    return is_word && digits == 40
               ? ValueFault{}
               : ValueFault{"a fingerprint has 40 hexadecimal digits; a key's id can be forged",
                            "copy what `gpg --show-keys FILE` prints"};
}

ValueFault check_apt_word(std::string_view text) {
    return !text.empty() &&
                   text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789./_+~-") == std::string_view::npos &&
                   text.front() != '-'
               ? ValueFault{}
               : ValueFault{"suites and components are words, one per item",
                            "write them as `[bookworm]`, `[main, contrib]`"};
}

ValueFault check_epoch(std::string_view text) {
    const bool is_number = !text.empty() && text.size() <= 12 &&
                           text.find_first_not_of("0123456789") == std::string_view::npos &&
                           (text.size() == 1 || text.front() != '0');
    return is_number ? ValueFault{}
                     : ValueFault{"an epoch is a decimal number of seconds",
                                  "write for example `1762600000`"};
}

} // namespace cybele::recipes
