// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/armor.hpp"

#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::string_view kArmorBegin = "-----BEGIN PGP ";
constexpr std::string_view kEnd = "-----END PGP ";
constexpr std::string_view kDashes = "-----";
constexpr std::size_t kColumns = 64;
constexpr std::size_t kMaximumLabel = 40;

tl::unexpected<Error> damaged_armor(std::string_view because) {
    return fail(ErrorCode::kInput,
                problem("openpgp-armor-damaged", "an armored OpenPGP block is damaged"),
                std::string(because),
                "copy or export it again");
}

/// Without the blanks and the CR that may stand at its end.
std::string_view take_trimmed_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t last = line.find_last_not_of(" \t\r");
    return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// Where a line begins with `mark`; npos: none does.
std::size_t find_line(std::string_view text, std::string_view mark) {
    for (std::size_t at = text.find(mark); at != std::string_view::npos;
         at = text.find(mark, at + 1)) {
        if (at == 0 || text[at - 1] == '\n') {
            return at;
        }
    }
    return std::string_view::npos;
}

/// CRC-24 (RFC 9580, section 6.1.1).
std::uint32_t crc24(std::string_view bytes) {
    std::uint32_t crc = 0xb704ce;
    for (const char byte : bytes) {
        crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(byte)) << 16U;
        for (int bit = 0; bit < 8; ++bit) {
            crc <<= 1U;
            if ((crc & 0x1000000U) != 0) {
                crc ^= 0x1864cfbU;
            }
        }
    }
    return crc & 0xffffffU;
}

} // namespace

bool has_armor(std::string_view text) {
    return find_line(text, kArmorBegin) != std::string_view::npos;
}

Result<ArmorBlock> take_armor(std::string_view& text) {
    const std::size_t begin = find_line(text, kArmorBegin);
    if (begin == std::string_view::npos) {
        return damaged_armor("no line begins with -----BEGIN PGP");
    }
    text.remove_prefix(begin);
    std::string_view first = take_trimmed_line(text);
    first.remove_prefix(std::min(kArmorBegin.size(), first.size())); // blanks at its end are gone
    if (!first.ends_with(kDashes) || first.size() > kMaximumLabel) {
        return damaged_armor("its first line is not complete");
    }
    first.remove_suffix(kDashes.size());
    ArmorBlock block;
    block.label = first;
    std::string_view line = take_trimmed_line(text);
    while (!line.empty() && line.find(": ") != std::string_view::npos) {
        line = take_trimmed_line(text); // Version, Comment, Hash, … say nothing that counts
    }
    if (line.empty()) {
        line = take_trimmed_line(text);
    }
    std::string digits;
    while (!line.empty() && line[0] != '=' && line[0] != '-') {
        digits += line;
        line = take_trimmed_line(text);
    }
    if (!line.empty() && line[0] == '=') {
        line = take_trimmed_line(text);
    }
    while (line.empty() && !text.empty()) {
        line = take_trimmed_line(text);
    }
    if (line != fmt::format("{}{}{}", kEnd, block.label, kDashes)) {
        return damaged_armor(
            fmt::format("the line -----END PGP {}----- is missing", printable(block.label)));
    }
    auto bytes = base64_decode(digits);
    if (!bytes) {
        return damaged_armor("its lines are not base64");
    }
    block.bytes = std::move(*bytes);
    return block;
}

std::string write_armor(std::string_view label, std::string_view bytes, Checksum checksum) {
    std::string text = fmt::format("{}{}{}\n\n", kArmorBegin, label, kDashes);
    const std::string digits = base64(bytes);
    for (std::size_t at = 0; at < digits.size(); at += kColumns) {
        text += digits.substr(at, kColumns) + '\n';
    }
    if (checksum == Checksum::kCrc24) {
        const std::uint32_t crc = crc24(bytes);
        const std::string raw{static_cast<char>(crc >> 16U),
                              static_cast<char>(crc >> 8U & 0xffU),
                              static_cast<char>(crc & 0xffU)};
        text += "=" + base64(raw) + '\n';
    }
    return text + fmt::format("{}{}{}", kEnd, label, kDashes);
}

} // namespace cybele::images::openpgp
