// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/clear_text.hpp"

#include "images/openpgp/armor.hpp"
#include "images/openpgp/packet.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::string_view kMessageBegin = "-----BEGIN PGP SIGNED MESSAGE-----";
constexpr std::string_view kSignature = "-----BEGIN PGP SIGNATURE-----";
constexpr std::string_view kHash = "Hash: ";
constexpr std::string_view kEscape = "- ";
constexpr std::string_view kBlanks = " \t\r";

tl::unexpected<Error> not_clear_signed(std::string_view because) {
    return fail(
        ErrorCode::kInput,
        problem("clear-signed-message-malformed", "it is not a clear-signed OpenPGP message"),
        std::string(because),
        "sign again");
}

std::string_view without_blanks(std::string_view line) {
    const std::size_t last = line.find_last_not_of(kBlanks);
    return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// As it stands, without its LF.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

/// Calls `use` with each line of the text; an empty text is one empty line.
template <class Use>
std::string map_lines(std::string_view text, std::string_view between, const Use& use) {
    std::string result;
    for (bool is_first = true;; is_first = false) {
        const bool is_last = text.find('\n') == std::string_view::npos;
        if (!is_first) {
            result += between;
        }
        result += use(take_line(text));
        if (is_last) {
            return result;
        }
    }
}

/// The headers in front of the text: RFC 9580 allows Hash alone, since nothing signs them.
Result<void> skip_headers(std::string_view& text) {
    for (;;) {
        if (text.empty()) {
            return not_clear_signed("it ends before its text");
        }
        const std::string_view line = without_blanks(take_line(text));
        if (line.empty()) {
            return {};
        }
        if (!line.starts_with(kHash)) {
            return not_clear_signed(fmt::format("the line '{}' before its text is not signed",
                                                printable(line.substr(0, 60))));
        }
    }
}

} // namespace

std::string signed_text(std::string_view text) {
    return map_lines(text, "\n", without_blanks);
}

std::string canonical_text(std::string_view text) {
    return map_lines(text, "\r\n", without_blanks);
}

std::string dash_escaped(std::string_view text) {
    return map_lines(text, "\n", [](std::string_view line) {
        return std::string(line.starts_with('-') ? kEscape : "").append(line);
    });
}

Result<ClearMessage> read_clear_message(std::string_view message) {
    if (without_blanks(take_line(message)) != kMessageBegin) {
        return not_clear_signed("it does not begin with -----BEGIN PGP SIGNED MESSAGE-----");
    }
    CYBELE_CHECK(skip_headers(message));
    ClearMessage result;
    for (bool is_first = true;; is_first = false) {
        if (message.empty()) {
            return not_clear_signed("it has no signature");
        }
        if (message.starts_with(kSignature)) {
            break;
        }
        std::string_view line = without_blanks(take_line(message));
        if (line.starts_with(kEscape)) {
            line.remove_prefix(kEscape.size());
        } else if (line.starts_with('-')) {
            return not_clear_signed("a line of its text begins with a dash that is not escaped");
        }
        result.text += is_first ? "" : "\n";
        result.text += without_blanks(line);
    }
    CYBELE_TRY(ArmorBlock block, take_armor(message));
    if (block.label != "SIGNATURE" ||
        message.find_first_not_of(" \t\r\n") != std::string_view::npos) {
        return not_clear_signed("there is text after its signature");
    }
    result.signatures = std::move(block.bytes);
    return result;
}

} // namespace cybele::images::openpgp
