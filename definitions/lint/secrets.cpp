// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/secrets.hpp"

#include "definitions/grammar/grammar.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

/// Ends of the names of variables and arguments that hold secrets.
constexpr std::array<std::string_view, 9> kNames = {"token",
                                                    "password",
                                                    "passwd",
                                                    "secret",
                                                    "api_key",
                                                    "apikey",
                                                    "access_key",
                                                    "private_key",
                                                    "credentials"};

constexpr std::array<std::string_view, 10> kSwitches = {
    "yes", "no", "true", "false", "on", "off", "0", "1", "none", "null"};

/// A text that is a secret wherever it stands: its beginning, and how many characters follow.
struct Shape {
    std::string_view begin;
    std::size_t length;
    std::string_view what;
};
constexpr std::array kShapes = {
    Shape{"AKIA", 16, "an access key of a cloud"},
    Shape{"ghp_", 36, "a token of a forge"},
    Shape{"github_pat_", 40, "a token of a forge"},
    Shape{"glpat-", 20, "a token of a forge"},
    Shape{"hf_", 30, "a token of a model hub"},
    Shape{"-----BEGIN OPENSSH PRIVATE KEY", 0, "a private key"},
    Shape{"-----BEGIN RSA PRIVATE KEY", 0, "a private key"},
    Shape{"-----BEGIN PRIVATE KEY", 0, "a private key"},
};

void shapes(Lint& lint, std::size_t number, std::string_view line) {
    for (const Shape& shape : kShapes) {
        const std::size_t at = line.find(shape.begin);
        if (at == std::string_view::npos) {
            continue;
        }
        std::size_t length = 0;
        for (const char c : line.substr(at + shape.begin.size())) {
            if (!is_word_character(c)) {
                break;
            }
            ++length;
        }
        if (length >= shape.length) {
            lint.tell("CD312", {number, at + 1}, fmt::format("this looks like {}", shape.what));
            return;
        }
    }
}

void names(Lint& lint, std::size_t number, std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
        return;
    }
    std::size_t begin = equals;
    while (begin > 0 && is_word_character(line[begin - 1])) {
        --begin;
    }
    const std::string name = lower(line.substr(begin, equals - begin));
    const std::string_view value = trim(line.substr(equals + 1));
    const bool has_name = std::any_of(
        kNames.begin(), kNames.end(), [&](std::string_view end) { return name.ends_with(end); });
    const std::string_view first = value.substr(0, value.find_first_of(" \t,;"));
    const bool is_placeholder = first.starts_with('<') || first == "\"\"" || first == "''";
    std::string word = lower(first); // a switch, as in ALLOW_EMPTY_PASSWORD=yes
    std::erase_if(word, [](char c) { return c == '"' || c == '\''; });
    const bool is_switch = std::find(kSwitches.begin(), kSwitches.end(), word) != kSwitches.end();
    const bool is_literal = !value.empty() && value.find('$') == std::string_view::npos &&
                            !is_placeholder && !is_switch;
    if (has_name && is_literal) {
        lint.tell("CD312",
                  {number, begin + 1},
                  fmt::format("the value of '{}' is stored in the image",
                              printable(line.substr(begin, equals - begin))));
    }
}

} // namespace

void lint_secrets(Lint& lint) {
    for (std::size_t i = 0; i < lint.lines().size(); ++i) {
        const std::string_view line = lint.lines()[i];
        shapes(lint, i + 1, line);
        if (!trim(line).starts_with('#')) {
            names(lint, i + 1, line);
        }
    }
    for (const auto& [name, value] : lint.options().parse.arguments) {
        const std::string low = lower(name);
        if (std::any_of(kNames.begin(), kNames.end(), [&](std::string_view end) {
                return low.ends_with(end);
            })) {
            lint.tell(
                "CD312",
                {1, 1},
                fmt::format("the value of --build-arg {} is stored in the image", printable(name)));
        }
    }
}

} // namespace cybele::definitions
