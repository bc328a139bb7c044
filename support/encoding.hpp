// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cybele {

/// Lower-case hexadecimal.
[[nodiscard]] std::string hex(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::string base64(std::string_view bytes);
/// Standard or URL-safe alphabet, padded or not; anything else is kInput.
[[nodiscard]] Result<std::string> base64_decode(std::string_view text);

/// A part of a URL: letters, digits and the characters of `plain` as they are, other bytes as `%XX`
/// (RFC 3986, 2.1; by default its unreserved characters).
[[nodiscard]] std::string percent_encoded(std::string_view text, std::string_view plain = "-._~");
/// With the bytes for each `%XX`; a `%` without two hexadecimal digits stays as it is.
[[nodiscard]] std::string percent_decoded(std::string_view text);

} // namespace cybele
