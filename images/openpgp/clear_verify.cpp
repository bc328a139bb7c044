// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/clear_sign.hpp"
#include "images/openpgp/clear_text.hpp"
#include "images/openpgp/packet.hpp"
#include "images/openpgp/signature.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::size_t kMaximumSignatures = 16;

std::string date_of(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    return ::gmtime_r(&time, &parts) == nullptr ? "?" : fmt::format("{:%Y-%m-%d}", parts);
}

/// A key that a signature names, with its certificate.
struct Issuer {
    const Certificate* certificate;
    std::size_t index; ///< among the certificate's keys
};

class Verifier {
public:
    Verifier(const Keyring& keyring, std::int64_t now) : keyring_(keyring), now_(now) {}

    /// Judges one signature over `text`; fills in everything but the text.
    [[nodiscard]] ClearSigned judge(std::string_view body, const std::string& text) const {
        ClearSigned result;
        const auto read = read_signature(body);
        if (!read) {
            result.because = read.error().faults().front().because;
            return result;
        }
        const SignaturePacket& signature = *read;
        result.issuer = signature.issuer_fingerprint.empty() ? signature.issuer_key_id
                                                             : signature.issuer_fingerprint;
        result.created = signature.created;
        result.hash = hash_name(signature.hash);
        result.because = why_unusable(signature);
        if (!result.because.empty()) {
            return result;
        }
        const std::vector<Issuer> issuers = issuers_of(signature);
        if (issuers.empty()) {
            result.lacks_key = true;
            result.because = fmt::format("it was made with a key that is not known: {}",
                                         result.issuer.empty() ? "none is named" : result.issuer);
            return result;
        }
        for (const Issuer& issuer : issuers) {
            judge_issuer(result, issuer, signature, text);
            if (result.is_valid) {
                break;
            }
        }
        return result;
    }

private:
    [[nodiscard]] std::string why_unusable(const SignaturePacket& signature) const {
        if (signature.type != SignatureType::kText) {
            return fmt::format("it is a signature of type {:#04x}, not one over text",
                               static_cast<unsigned>(signature.type));
        }
        if (!is_strong(signature.hash)) {
            return fmt::format("it is made with the hash {}, which does not count",
                               hash_name(signature.hash));
        }
        if (!signature.refused.empty()) {
            return fmt::format("it has a critical {} that is not understood", signature.refused);
        }
        if (signature.created > now_ + kClockTolerance) {
            return fmt::format("it is of the future ({})", date_of(signature.created));
        }
        if (signature.is_expired(now_)) {
            return fmt::format("it expired on {}",
                               date_of(signature.created + signature.expires_after.value_or(0)));
        }
        return {};
    }

    [[nodiscard]] std::vector<Issuer> issuers_of(const SignaturePacket& signature) const {
        std::vector<Issuer> issuers;
        if (signature.issuer_fingerprint.empty() && signature.issuer_key_id.empty()) {
            return issuers;
        }
        for (const Certificate& certificate : keyring_.certificates()) {
            const auto& all = certificate.fingerprints();
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (!all[i].empty() && signature.names_issuer(all[i])) {
                    issuers.push_back({&certificate, i});
                }
            }
        }
        return issuers;
    }

    void judge_issuer(ClearSigned& result,
                      const Issuer& issuer,
                      const SignaturePacket& signature,
                      const std::string& text) const {
        const CertificateState state = issuer.certificate->state(now_);
        if (issuer.index >= state.keys.size()) {
            result.because =
                fmt::format("the key {} is damaged", issuer.certificate->fingerprint());
            return;
        }
        const KeyState& key = state.keys[issuer.index];
        result.primary_fingerprint = issuer.certificate->fingerprint();
        result.fingerprint = key.fingerprint;
        result.user_id = state.name();
        const auto material = material_of(issuer);
        if (!material || !holds(signature, *material, canonical_text(text))) {
            result.because = material && material->key == nullptr
                                 ? fmt::format("the key {} cannot be used: {}",
                                               key.fingerprint,
                                               material->because)
                                 : "it does not match the text: one of the two was changed";
            return;
        }
        result.because = why_refused(state, key, signature);
        result.is_valid = result.because.empty();
    }

    static Result<PublicMaterial> material_of(const Issuer& issuer) {
        std::size_t index = 0;
        for (const Component& component : issuer.certificate->components()) {
            const bool is_key =
                component.tag != Tag::kUserId && component.tag != Tag::kUserAttribute;
            if (is_key && index++ == issuer.index) {
                return read_public(component.body);
            }
        }
        return fail(ErrorCode::kInternal, problem("openpgp-key-lost", "a certificate lost a key"));
    }

    /// Why a signature that matches does not count; empty: it does.
    static std::string why_refused(const CertificateState& state,
                                   const KeyState& key,
                                   const SignaturePacket& signature) {
        const KeyState& primary = state.keys.front();
        for (const KeyState* const one : {&primary, &key}) {
            if (!one->because.empty()) {
                return fmt::format("the key {} does not count: {}", one->fingerprint, one->because);
            }
            if (signature.created < one->created) {
                return fmt::format("it is of {}, older than the key {}",
                                   date_of(signature.created),
                                   one->fingerprint);
            }
            if (one->expires && signature.created >= *one->expires) {
                return fmt::format("the key {} had expired on {} when it signed",
                                   one->fingerprint,
                                   date_of(*one->expires));
            }
        }
        if (!key.can_sign) {
            return fmt::format("the key {} may not sign", key.fingerprint);
        }
        return {};
    }

    const Keyring& keyring_;
    std::int64_t now_;
};

} // namespace

Result<ClearSigned>
verify_clear_signed(std::string_view message, const Keyring& keyring, std::int64_t now) {
    CYBELE_TRY(const ClearMessage parts, read_clear_message(message));
    std::string_view packets = parts.signatures;
    const Verifier verifier(keyring, now);
    std::optional<ClearSigned> first;
    for (std::size_t count = 0; !packets.empty() && count < kMaximumSignatures; ++count) {
        CYBELE_TRY(const Packet packet, take_packet(packets));
        if (packet.tag != static_cast<std::uint8_t>(Tag::kSignature)) {
            return fail(
                ErrorCode::kInput,
                problem("clear-signed-message-content", "it is not a clear-signed OpenPGP message"),
                "its signature block holds something else",
                "sign again");
        }
        ClearSigned judged = verifier.judge(packet.body, parts.text);
        judged.text = parts.text;
        if (judged.is_valid || !first) {
            first = std::move(judged);
        }
        if (first->is_valid) {
            break;
        }
    }
    if (!first) {
        return fail(
            ErrorCode::kInput,
            problem("clear-signed-message-empty", "it is not a clear-signed OpenPGP message"),
            "its signature block is empty",
            "sign again");
    }
    return std::move(*first);
}

} // namespace cybele::images::openpgp
