// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/certificate.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Bytes of OpenPGP packets, judged before they are used.
namespace cybele::images::openpgp {

/// A packet of a key or signature of more bytes is refused; photographs in keys are the biggest.
inline constexpr std::size_t kMaximumPacket = std::size_t{1} << 20U;
/// The longest number that is taken, in bits; OpenSSL stops there too.
inline constexpr std::size_t kMaximumNumberBits = 16384;

/// Reads big-endian fields; behind the end it gives zeros and empty views, and has_failed().
class Cursor {
public:
    explicit Cursor(std::string_view bytes) : rest_(bytes) {}

    [[nodiscard]] std::uint8_t u8() {
        return static_cast<std::uint8_t>(number(1));
    }
    [[nodiscard]] std::uint16_t u16() {
        return static_cast<std::uint16_t>(number(2));
    }
    [[nodiscard]] std::uint32_t u32() {
        return number(4);
    }
    [[nodiscard]] std::string_view bytes(std::size_t count);
    /// A multiprecision integer (RFC 9580, section 3.2), without its length; too long a one fails.
    [[nodiscard]] std::string_view mpi();

    [[nodiscard]] std::string_view rest() const {
        return rest_;
    }
    [[nodiscard]] bool at_end() const {
        return rest_.empty();
    }
    [[nodiscard]] bool has_failed() const {
        return has_failed_;
    }
    void fail() {
        has_failed_ = true;
        rest_ = {};
    }

private:
    std::uint32_t number(std::size_t count);

    std::string_view rest_;
    bool has_failed_ = false;
};

struct Packet {
    std::uint8_t tag = 0;
    std::string_view body;
};

/// Takes the next packet off `bytes`, of either header format. kInput: cut short, of no known
/// length, or longer than kMaximumPacket.
[[nodiscard]] Result<Packet> take_packet(std::string_view& bytes);

/// With a new-format header.
void append_packet(std::string& out, Tag tag, std::string_view body);
void append_u16(std::string& out, std::size_t value);
void append_u32(std::string& out, std::size_t value);
/// As a multiprecision integer: leading zeros go.
void append_mpi(std::string& out, std::string_view number);

/// The same number, big-endian, without leading zeros.
[[nodiscard]] std::string_view without_zeros(std::string_view number);
/// With zeros in front up to `size` bytes; a longer one stays as it is.
[[nodiscard]] std::string padded(std::string_view number, std::size_t size);

/// Upper-case hexadecimal digits.
[[nodiscard]] std::string upper_hex(std::string_view bytes);

} // namespace cybele::images::openpgp
