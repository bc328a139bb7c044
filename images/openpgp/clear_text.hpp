// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>

/// The text of clear-signed messages (RFC 9580, section 7).
namespace cybele::images::openpgp {

struct ClearMessage {
    std::string text;       ///< what is signed; lines end with LF, the last one not at all
    std::string signatures; ///< packets
};

/// Takes a message apart. kInput: none, or one with something before, behind or between its parts
/// that no signature covers.
[[nodiscard]] Result<ClearMessage> read_clear_message(std::string_view message);

/// Without the blanks at the ends of lines; CR LF as LF.
[[nodiscard]] std::string signed_text(std::string_view text);
/// What is hashed: lines with CR LF between them.
[[nodiscard]] std::string canonical_text(std::string_view text);
/// Lines that begin with a dash get "- " in front.
[[nodiscard]] std::string dash_escaped(std::string_view text);

} // namespace cybele::images::openpgp
