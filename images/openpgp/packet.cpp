// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/packet.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace {

tl::unexpected<Error> damaged_packet(std::string_view because) {
    return fail(ErrorCode::kInput,
                problem("openpgp-packet-damaged", "an OpenPGP packet is damaged"),
                std::string(because),
                "copy or export it again");
}

/// Length of a new-format packet (RFC 9580, section 4.2.1).
Result<std::size_t> new_length(Cursor& cursor) {
    const std::size_t first = cursor.u8();
    if (first < 192) {
        return first;
    }
    if (first < 224) {
        return (first - 192) * 256 + cursor.u8() + 192;
    }
    if (first == 255) {
        return cursor.u32();
    }
    return damaged_packet("it comes in pieces, which keys and signatures may not");
}

/// Length of an old-format packet (section 4.2.2); `type` is the header's last two bits.
Result<std::size_t> old_length(Cursor& cursor, unsigned type) {
    switch (type) {
    case 0:
        return cursor.u8();
    case 1:
        return cursor.u16();
    case 2:
        return cursor.u32();
    default:
        return damaged_packet("its length is missing");
    }
}

} // namespace

std::uint32_t Cursor::number(std::size_t count) {
    std::uint32_t value = 0;
    for (const char byte : bytes(count)) {
        value = value << 8U | static_cast<unsigned char>(byte);
    }
    return value;
}

std::string_view Cursor::bytes(std::size_t count) {
    if (count > rest_.size()) {
        fail();
        return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
}

std::string_view Cursor::mpi() {
    const std::size_t bits = u16();
    if (bits > kMaximumNumberBits) {
        fail();
        return {};
    }
    return bytes((bits + 7) / 8);
}

Result<Packet> take_packet(std::string_view& bytes) {
    Cursor cursor(bytes);
    const unsigned header = cursor.u8();
    if ((header & 0x80U) == 0) {
        return damaged_packet("a packet does not begin where the last one ends");
    }
    const bool is_new = (header & 0x40U) != 0;
    Packet packet;
    packet.tag = static_cast<std::uint8_t>(is_new ? header & 0x3fU : header >> 2U & 0x0fU);
    CYBELE_TRY(const std::size_t length,
               is_new ? new_length(cursor) : old_length(cursor, header & 3U));
    if (length > kMaximumPacket) {
        return damaged_packet(
            fmt::format("it claims {} bytes; at most {} are accepted", length, kMaximumPacket));
    }
    packet.body = cursor.bytes(length);
    if (cursor.has_failed()) {
        return damaged_packet("it is cut short");
    }
    bytes = cursor.rest();
    return packet;
}

void append_u16(std::string& out, std::size_t value) {
    out += static_cast<char>(value >> 8U & 0xffU);
    out += static_cast<char>(value & 0xffU);
}

void append_u32(std::string& out, std::size_t value) {
    append_u16(out, value >> 16U);
    append_u16(out, value);
}

void append_packet(std::string& out, Tag tag, std::string_view body) {
    out += static_cast<char>(0xc0U | static_cast<unsigned>(tag));
    if (body.size() < 192) {
        out += static_cast<char>(body.size());
    } else if (body.size() < 8384) {
        append_u16(out, body.size() - 192 + (std::size_t{192} << 8U));
    } else {
        out += '\xff';
        append_u32(out, body.size());
    }
    out += body;
}

std::string_view without_zeros(std::string_view number) {
    number.remove_prefix(std::min(number.find_first_not_of('\0'), number.size()));
    return number;
}

void append_mpi(std::string& out, std::string_view number) {
    number = without_zeros(number);
    const std::size_t leading =
        number.empty()
            ? 0
            : static_cast<std::size_t>(std::countl_zero(static_cast<std::uint8_t>(number[0])));
    append_u16(out, number.size() * 8 - leading);
    out += number;
}

std::string padded(std::string_view number, std::size_t size) {
    number = without_zeros(number);
    // In one piece: it may be a private one, of which no copy is left behind.
    std::string result(std::max(size, number.size()), '\0');
    std::copy(
        number.begin(), number.end(), result.end() - static_cast<std::ptrdiff_t>(number.size()));
    return result;
}

std::string upper_hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        text += fmt::format("{:02X}", static_cast<unsigned char>(byte));
    }
    return text;
}

} // namespace cybele::images::openpgp
