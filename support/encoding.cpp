// SPDX-License-Identifier: Apache-2.0
#include "support/encoding.hpp"

#include "support/characters.hpp"

#include <charconv>
#include <cstdint>

namespace cybele {

std::string hex(std::span<const std::uint8_t> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const std::uint8_t byte : bytes) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// 0…63, or -1.
int base64_value(char c) {
    if (c == '-') {
        return 62;
    }
    if (c == '_') {
        return 63;
    }
    const std::size_t at = kBase64.find(c);
    return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

} // namespace

std::string base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            group = group << 8U | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            text += j <= count ? kBase64[group >> (18U - 6U * j) & 63U] : '=';
        }
    }
    return text;
}

Result<std::string> base64_decode(std::string_view text) {
    while (!text.empty() && text.back() == '=') {
        text.remove_suffix(1);
    }
    std::string bytes;
    std::uint32_t bits = 0;
    unsigned int held = 0;
    for (const char c : text) {
        const int value = base64_value(c);
        if (value < 0) {
            return fail(ErrorCode::kInput,
                        problem("base64-malformed", "not base64"),
                        "a character is outside its alphabet");
        }
        bits = bits << 6U | static_cast<std::uint32_t>(value);
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes += static_cast<char>(bits >> held & 255U);
        }
    }
    if (held >= 6) {
        return fail(
            ErrorCode::kInput, problem("base64-malformed", "not base64"), "the text is cut off");
    }
    return bytes;
}

std::string percent_encoded(std::string_view text, std::string_view plain) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        if (is_alphanumeric(c) || plain.find(c) != std::string_view::npos) {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded += {'%', kDigits[byte / kDigits.size()], kDigits[byte % kDigits.size()]};
    }
    return encoded;
}

std::string percent_decoded(std::string_view text) {
    std::string decoded;
    for (std::size_t at = 0; at < text.size(); ++at) {
        unsigned char byte = 0;
        const std::string_view digits = text.substr(at).substr(1, 2);
        const char* const end = digits.data() + digits.size();
        const bool is_code = text[at] == '%' && digits.size() == 2 &&
                             std::from_chars(digits.data(), end, byte, 16).ptr == end;
        decoded += is_code ? static_cast<char>(byte) : text[at];
        at += is_code ? 2 : 0;
    }
    return decoded;
}

} // namespace cybele
