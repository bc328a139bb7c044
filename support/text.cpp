// SPDX-License-Identifier: Apache-2.0
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace cybele::text {

namespace {

/// With the 26 letters from `first` replaced by those from `other`.
std::string with_letters(std::string_view text, char first, char other) {
    std::string result(text);
    for (char& letter : result) {
        if (letter >= first && letter < first + 26) {
            letter = static_cast<char>(letter - first + other);
        }
    }
    return result;
}

} // namespace

std::string_view trimmed(std::string_view text, std::string_view blanks) {
    // A loop: a library call per character would cost more than the few blanks that are compared.
    const auto is_blank = [blanks](char character) {
        return std::ranges::any_of(blanks, [character](char blank) { return blank == character; });
    };
    while (!text.empty() && is_blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::string lowered(std::string_view text) {
    return with_letters(text, 'A', 'a');
}

std::string uppered(std::string_view text) {
    return with_letters(text, 'a', 'A');
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    while (true) {
        const std::size_t end = text.find(separator);
        pieces.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return pieces;
        }
        text.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> split_terminated(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string result;
    for (const std::string& word : words) {
        if (&word != words.data()) {
            result += between;
        }
        result += word;
    }
    return result;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(
        words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::optional<int> number(std::string_view text) {
    int value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || text.empty()) {
        return std::nullopt;
    }
    return value;
}

} // namespace cybele::text
