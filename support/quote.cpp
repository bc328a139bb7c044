// SPDX-License-Identifier: Apache-2.0
#include "support/quote.hpp"

#include <algorithm>
#include <cstdint>

namespace cybele {

namespace {

constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "%+,-./:=@_";

/// The length of the UTF-8 sequence at the start of `text`, or 0.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    std::size_t length = 0;
    std::uint32_t point = 0;
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first < 0xe0) {
        length = 2;
        point = first & 0x1fU;
    } else if (first >= 0xe0 && first < 0xf0) {
        length = 3;
        point = first & 0x0fU;
    } else if (first >= 0xf0 && first < 0xf5) {
        length = 4;
        point = first & 0x07U;
    } else {
        return 0;
    }
    if (text.size() < length) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) {
            return 0;
        }
        point = point << 6U | (byte(i) & 0x3fU);
    }
    const bool is_overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    const bool is_surrogate = point >= 0xd800 && point < 0xe000;
    return is_overlong || is_surrogate || point > 0x10ffff ? 0 : length;
}

/// Insertions, deletions, replacements and swaps of neighbours that make one word of the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[a.size()][b.size()];
}

} // namespace

std::string shell_quote(std::string_view word) {
    // A word with "=" first or "~" is left to the quotes; an assignment-like word is plain text
    // after the command's name.
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
        return std::string(word);
    }
    std::string quoted = "'";
    for (const char c : word) {
        if (c == '\'') {
            quoted += "'\\''";
        } else {
            quoted += c;
        }
    }
    return quoted + "'";
}

std::string shell_join(std::span<const std::string> words) {
    std::string line;
    for (const std::string& word : words) {
        if (!line.empty()) {
            line += ' ';
        }
        line += shell_quote(word);
    }
    return line;
}

std::string printable(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text.front());
        const std::size_t length = utf8_length(text);
        const bool is_c1 =
            length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
        if (text.front() == '\n') {
            out += "\\n";
        } else if (text.front() == '\t') {
            out += "\\t";
        } else if (length == 0 || first < 0x20 || first == 0x7f || is_c1) {
            out += "\\x";
            out += kDigits[first >> 4U];
            out += kDigits[first & 15U];
            text.remove_prefix(1);
            continue;
        } else {
            out.append(text.substr(0, length));
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

bool is_utf8(std::string_view text) {
    const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
    while (!text.empty()) {
        const auto other = std::find_if_not(text.begin(), text.end(), is_ascii);
        text.remove_prefix(static_cast<std::size_t>(other - text.begin()));
        const std::size_t length = text.empty() ? 0 : utf8_length(text);
        if (!text.empty() && length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
    std::string best;
    std::size_t best_distance = 3;
    for (const std::string_view candidate : known) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance && distance * 2 < std::max(word.size(), candidate.size())) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

} // namespace cybele
