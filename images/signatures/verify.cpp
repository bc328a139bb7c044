// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/verify.hpp"

#include "images/openpgp/clear_sign.hpp"
#include "images/signatures/message.hpp"
#include "images/signatures/signature.hpp"
#include "images/signatures/signer.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::images {

namespace {

constexpr std::string_view kClearSigned = "-----BEGIN PGP SIGNED MESSAGE-----";
constexpr std::size_t kFingerprintAt = 4; ///< in a signature's `extra`
constexpr std::size_t kFingerprintSize = 20;

std::string reason_of(const Error& error) {
    const Fault& fault = error.faults().front();
    return fault.because.empty() ? fault.message : fault.message + ": " + fault.because;
}

/// Upper-case hexadecimal of the fingerprint in a signature's descriptor.
std::string named_fingerprint(const Descriptor& signature) {
    std::string text;
    for (std::size_t i = 0; i < kFingerprintSize; ++i) {
        text += fmt::format("{:02X}", signature.extra[kFingerprintAt + i]);
    }
    return text;
}

bool is_sha256(const Descriptor& signature) {
    return signature.extra[0] == 1 && signature.extra[1] == 0 && signature.extra[2] == 0 &&
           signature.extra[3] == 0;
}

/// A signature by somebody known, whose message is still to be compared with the image.
struct Claim {
    std::size_t state = 0; ///< index of its state
    SignedMessage message;
};

/// Judges the signature objects of one image; what they cover is read once, at the end.
class Verifier {
public:
    Verifier(const Image& image, const Trust& trust, ObjectDigests::Progress progress)
        : image_(image), trust_(trust), groups_(signable_groups(image)),
          digests_(image, std::move(progress)) {}

    Result<void> judge(const Descriptor& signature) {
        SignatureState state;
        state.object = signature.id;
        CYBELE_TRY(const std::string text, image_.read_object(signature, kMaximumSignatureSize));
        const bool is_clear_signed = text.starts_with(kClearSigned);
        state.kind = is_clear_signed ? SignatureKind::kPgp : SignatureKind::kUnknown;
        if (is_clear_signed &&
            (!signature.is_group_link() || text.find("\nSIFHASH:") != std::string::npos)) {
            return judge_legacy(signature, text, std::move(state));
        }
        if (!signature.is_group_link()) {
            return refuse(std::move(state),
                          fmt::format("it is linked to object {}, not to a group", signature.link));
        }
        state.group = signature.link & ~kGroupMask;
        if (!std::binary_search(groups_.begin(), groups_.end(), state.group)) {
            return refuse(std::move(state),
                          fmt::format("group {} has no objects (any more)", state.group));
        }
        if (!is_clear_signed && text.find_first_not_of(" \t\r\n") == text.find('{')) {
            state.kind = SignatureKind::kDsse;
        }
        if (!is_sha256(signature)) {
            return refuse(std::move(state), "its descriptor names another hash than SHA-256");
        }
        return is_clear_signed ? judge_pgp(signature, text, std::move(state))
                               : judge_envelope(text, std::move(state));
    }

    /// Reads what the signatures of known signers cover, and compares.
    Result<std::vector<SignatureState>> finish() {
        for (const Claim& claim : claims_) {
            expect_digests(claim.message, image_, states_[claim.state].group, digests_);
        }
        for (const Claim& claim : claims_) {
            SignatureState& state = states_[claim.state];
            CYBELE_TRY(const std::string because,
                       compare_message(claim.message, image_, state.group, digests_, state.covers));
            state.is_of_other_bytes = !because.empty();
            if (!because.empty() || state.because.empty()) { // a certificate may be refused already
                state.because = because;
                state.gap = SignerGap::kNone;
            }
            state.is_valid = state.because.empty();
        }
        return std::move(states_);
    }

private:
    // By reference: what it says may be made of the state itself.
    Result<void> refuse(SignatureState&& state, std::string because) {
        state.is_valid = false;
        state.because = std::move(because);
        states_.push_back(std::move(state));
        return {};
    }

    Result<void>
    judge_legacy(const Descriptor& signature, const std::string& text, SignatureState state) {
        state.kind = SignatureKind::kLegacy;
        if (signature.is_group_link()) {
            state.group = signature.link & ~kGroupMask;
        } else {
            for (const Descriptor& descriptor : image_.descriptors()) {
                state.group = descriptor.id == signature.link ? descriptor.group : state.group;
            }
        }
        if (!trust_.legacy_judge) {
            return refuse(std::move(state),
                          "it is of the kind that Singularity 3.0 to 3.5 made, which leaves the "
                          "image's metadata unprotected");
        }
        CYBELE_CHECK(trust_.legacy_judge(image_, signature, text, state));
        if (state.is_valid && !is_counted(state.key)) {
            return refuse(std::move(state), not_counted(state));
        }
        forget_overlays(state);
        states_.push_back(std::move(state));
        return {};
    }

    /// An old signature covers bytes and no types: it does not say what is laid over the root.
    void forget_overlays(SignatureState& state) const {
        std::erase_if(state.covers, [&](std::uint32_t id) {
            const auto& all = image_.descriptors();
            return std::ranges::any_of(all, [&](const Descriptor& one) {
                return one.id == id && one.part_type() == PartType::kOverlay;
            });
        });
    }

    /// Of the OpenPGP keys in the keyring, those that are named; without names all.
    [[nodiscard]] bool is_counted(const std::string& key) const {
        return trust_.pgp.empty() || contains(trust_.pgp, key);
    }
    static std::string not_counted(const SignatureState& state) {
        return fmt::format("the key of {} is none of those that count", printable(state.user_id));
    }

    Result<void>
    judge_pgp(const Descriptor& signature, const std::string& text, SignatureState state) {
        state.claimed_key = named_fingerprint(signature);
        if (!trust_.keyring) {
            return refuse(std::move(state),
                          "it is an OpenPGP signature, and no keyring to verify it with was given");
        }
        const auto found = openpgp::verify_clear_signed(text, *trust_.keyring, trust_.now);
        if (!found) {
            return refuse(std::move(state), reason_of(found.error()));
        }
        if (!found->is_valid) {
            state.gap = found->lacks_key ? SignerGap::kPgpKey : SignerGap::kNone;
            return refuse(std::move(state), found->because);
        }
        state.key = found->primary_fingerprint;
        state.user_id = found->user_id;
        if (found->primary_fingerprint != state.claimed_key) {
            return refuse(std::move(state),
                          fmt::format("its descriptor names another key ({})", state.claimed_key));
        }
        if (!is_counted(state.key)) {
            return refuse(std::move(state), not_counted(state));
        }
        state.signer = "pgp:" + state.key;
        return claim(found->text, std::move(state));
    }

    Result<void> judge_envelope(const std::string& text, SignatureState state) {
        const Result<Envelope> envelope = parse_envelope(text);
        if (!envelope) {
            return refuse(std::move(state), reason_of(envelope.error()));
        }
        if (envelope->payload_type != kSifMetadataType) {
            return refuse(std::move(state), "it signs something else than the metadata of a SIF");
        }
        if (envelope->signatures.empty()) {
            return refuse(std::move(state), "its envelope holds no signature");
        }
        const std::string bytes =
            pre_authentication_encoding(envelope->payload_type, envelope->payload);
        for (const EnvelopeSignature& signature : envelope->signatures) {
            SignatureState own = state;
            own.claimed_key = printable(signature.key_id);
            CYBELE_CHECK(find_signer(bytes, signature, trust_, own));
            if (own.signer.empty()) {
                states_.push_back(std::move(own));
                continue;
            }
            CYBELE_CHECK(claim(envelope->payload, std::move(own)));
        }
        return {};
    }

    /// Only now: what a stranger wrote is not looked into.
    Result<void> claim(std::string_view payload, SignatureState state) {
        Result<SignedMessage> message = parse_message(payload);
        if (!message) {
            return refuse(std::move(state), reason_of(message.error()));
        }
        claims_.push_back({states_.size(), std::move(*message)});
        states_.push_back(std::move(state));
        return {};
    }

    const Image& image_;
    const Trust& trust_;
    std::vector<std::uint32_t> groups_;
    ObjectDigests digests_;
    std::vector<SignatureState> states_;
    std::vector<Claim> claims_;
};

} // namespace

std::string_view name_of(SignatureKind kind) {
    switch (kind) {
    case SignatureKind::kDsse:
        return "dsse";
    case SignatureKind::kPgp:
        return "pgp";
    case SignatureKind::kLegacy:
        return "legacy";
    default:
        return "unknown";
    }
}

Result<Verification> verify_signatures(const Image& image,
                                       const Trust& trust,
                                       const Selection& selection,
                                       ObjectDigests::Progress progress) {
    CYBELE_CHECK(selection.check(image));
    Verifier verifier(image, trust, std::move(progress));
    for (const Descriptor& descriptor : image.descriptors()) {
        if (descriptor.type == DataType::kSignature) {
            CYBELE_CHECK(verifier.judge(descriptor));
        }
    }
    Verification verification;
    CYBELE_TRY(verification.signatures, verifier.finish());
    decide(image, trust, selection, verification);
    return verification;
}

Result<Verification> verify_image(const std::filesystem::path& path,
                                  const std::vector<std::filesystem::path>& keys) {
    if (keys.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("verify-without-key", "no key to verify with"),
                    "a signature proves nothing without the key of a trusted signer",
                    "give the public key of the one who signed the image: --key FILE");
    }
    Trust trust;
    for (const std::filesystem::path& key : keys) {
        CYBELE_TRY(PublicKey public_key, PublicKey::read(key));
        trust.keys.push_back(std::move(public_key));
    }
    CYBELE_TRY(const Image image, Image::open(path));
    return verify_signatures(image, trust, {});
}

} // namespace cybele::images
