// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_request.hpp"

namespace cybele::http {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

} // namespace

std::string encode_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::string_view piece = bytes.substr(at, 3);
        std::uint32_t bits = 0;
        for (std::size_t index = 0; index < 3; ++index) {
            const unsigned char byte =
                index < piece.size() ? static_cast<unsigned char>(piece[index]) : 0;
            bits = bits << 8U | byte;
        }
        for (std::size_t index = 0; index < 4; ++index) {
            text += index <= piece.size() ? kAlphabet[bits >> (18U - 6U * index) & 63U] : '=';
        }
    }
    return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
    if (text.size() % 4 != 0) {
        return std::nullopt;
    }
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    for (; !text.empty(); text.remove_prefix(4)) {
        std::string_view piece = text.substr(0, 4);
        if (text.size() == 4) {
            piece = piece.substr(0, piece.find('='));
        }
        std::uint32_t bits = 0;
        for (const char letter : piece) {
            const std::size_t value = kAlphabet.find(letter);
            if (value == std::string_view::npos) {
                return std::nullopt;
            }
            bits = bits << 6U | static_cast<std::uint32_t>(value);
        }
        if (piece.size() < 2) {
            return std::nullopt;
        }
        bits <<= 6U * (4 - piece.size());
        for (std::size_t index = 0; index + 1 < piece.size(); ++index) {
            bytes += static_cast<char>(bits >> (16U - 8U * index) & 0xffU);
        }
    }
    return bytes;
}

} // namespace cybele::http
