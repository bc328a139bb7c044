// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/plain_words.hpp"

#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cctype>

namespace cybele::bridge {
namespace {

constexpr std::size_t kMostOfWords = 1024;

bool is_of_token(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("-_.+/=").find(letter) != std::string_view::npos;
}

/// From a mark of a secret on, as far as it goes.
std::string without_secrets(std::string_view text) {
    std::string plain;
    while (!text.empty()) {
        if (text.starts_with("eyJ")) {
            std::size_t end = 0;
            while (end < text.size() && is_of_token(text[end])) {
                ++end;
            }
            plain += "***";
            text.remove_prefix(end);
        } else if (text.starts_with("PRIVATE KEY")) {
            return plain + "***";
        } else {
            plain += text.front();
            text.remove_prefix(1);
        }
    }
    return plain;
}

} // namespace

std::string cut_text(std::string_view text, std::size_t most) {
    std::size_t end = std::min(text.size(), most);
    while (end < text.size() && end > 0 &&
           (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
        --end;
    }
    return std::string(text.substr(0, end));
}

std::string plain_words(std::string_view text) {
    std::string words = without_secrets(text::trimmed(text));
    if (words.size() > kMostOfWords) {
        words = cut_text(words, kMostOfWords - 3) + "...";
    }
    return printable(words);
}

} // namespace cybele::bridge
