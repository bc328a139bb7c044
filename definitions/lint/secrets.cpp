// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/secrets.hpp"

#include "definitions/grammar/grammar.hpp"
#include "support/characters.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

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
    const std::string_view name = line.substr(begin, equals - begin);
    const std::string_view value = trim(line.substr(equals + 1));
    const std::string_view first = value.substr(0, value.find_first_of(" \t,;"));
    const bool is_placeholder = first.starts_with('<') || first == "\"\"" || first == "''";
    std::string word(first);
    std::erase_if(word, [](char c) { return c == '"' || c == '\''; });
    const bool is_literal = !value.empty() && value.find('$') == std::string_view::npos &&
                            !is_placeholder && !is_switch(word);
    if (is_secret_name(name) && is_literal) {
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
        if (is_secret_name(name)) {
            lint.tell(
                "CD312",
                {1, 1},
                fmt::format("the value of --build-arg {} is stored in the image", printable(name)));
        }
    }
}

} // namespace cybele::definitions
