// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/clear_sign.hpp"

#include "images/openpgp/armor.hpp"
#include "images/openpgp/clear_text.hpp"
#include "images/openpgp/packet.hpp"
#include "images/openpgp/signature.hpp"

#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::uint8_t kCreation = 2;

/// Whether a line ends with what clear-signing does not sign, or holds a CR.
bool loses_characters(std::string_view text) {
    return signed_text(text) != text || text.find('\r') != std::string_view::npos;
}

} // namespace

Result<std::string>
clear_sign(std::string_view text, const SecretKey& key, std::int64_t time, std::string_view salt) {
    if (loses_characters(text)) {
        return fail(ErrorCode::kInput,
                    problem("clear-sign-text", "the text cannot be clear-signed as it is"),
                    "blanks at the end of a line, and CR, are not part of what is signed",
                    "remove them");
    }
    SignatureBuilder builder(SignatureType::kText, key.algorithm(), key.hash());
    std::string seconds;
    append_u32(seconds, static_cast<std::size_t>(time));
    builder.critical(kCreation, seconds);
    builder.add_issuer(key.fingerprint());
    builder.add_salt(salt);
    builder.add_issuer_fingerprint(key.fingerprint());
    const std::string digest = builder.digest(canonical_text(text));
    CYBELE_TRY(const std::string numbers, key.sign(digest));
    std::string packet;
    append_packet(packet, Tag::kSignature, builder.body(digest, numbers));
    return fmt::format("-----BEGIN PGP SIGNED MESSAGE-----\nHash: {}\n\n{}\n{}",
                       hash_name(key.hash()),
                       dash_escaped(text),
                       write_armor("SIGNATURE", packet, Checksum::kNone));
}

} // namespace cybele::images::openpgp
