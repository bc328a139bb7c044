// SPDX-License-Identifier: Apache-2.0
#include "bridge/plain_words.hpp"

#include "support/quote.hpp"
#include "support/text.hpp"

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

std::string plain_words(std::string_view text) {
    std::string words = without_secrets(text::trimmed(text));
    if (words.size() > kMostOfWords) {
        std::size_t end = kMostOfWords - 3;
        while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xc0U) == 0x80U) {
            --end; // not inside of a letter
        }
        words = words.substr(0, end) + "...";
    }
    return printable(words);
}

} // namespace cybele::bridge
