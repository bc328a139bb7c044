// SPDX-License-Identifier: Apache-2.0
#include "support/random.hpp"

#include "support/encoding.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <sys/random.h>

namespace cybele {

std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t done = 0;
    while (done < count) {
        const ssize_t got = ::getrandom(bytes.data() + done, count - done, 0);
        if (got > 0) {
            done += static_cast<std::size_t>(got);
        }
    }
    return bytes;
}

std::string random_uuid() {
    std::string bytes = random_bytes(16);
    bytes[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0fU) | 0x40U);
    bytes[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3fU) | 0x80U);
    std::array<std::uint8_t, 16> raw{};
    std::copy(bytes.begin(), bytes.end(), raw.begin());
    std::string text = hex(raw);
    for (const std::size_t at : {20U, 16U, 12U, 8U}) {
        text.insert(at, "-");
    }
    return text;
}

} // namespace cybele
