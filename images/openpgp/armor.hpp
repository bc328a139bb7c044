// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>

/// ASCII armor (RFC 9580, section 6).
namespace cybele::images::openpgp {

struct ArmorBlock {
    std::string label; ///< "PUBLIC KEY BLOCK", "SIGNATURE", …
    std::string bytes;
};

/// Takes the first block off `text`: headers are passed over and, as RFC 9580 wants it, a checksum
/// is neither needed nor judged. What stands before the block goes too. kInput: none, or damaged.
[[nodiscard]] Result<ArmorBlock> take_armor(std::string_view& text);

/// Whether a block begins somewhere.
[[nodiscard]] bool has_armor(std::string_view text);

enum class Checksum { kNone, kCrc24 };

/// A block of 64-column lines; the last line has no end.
[[nodiscard]] std::string
write_armor(std::string_view label, std::string_view bytes, Checksum checksum);

} // namespace cybele::images::openpgp
