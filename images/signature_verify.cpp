// SPDX-License-Identifier: Apache-2.0
#include "images/dsse.hpp"
#include "images/key.hpp"
#include "images/sif.hpp"
#include "images/signature.hpp"
#include "images/signature_message.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

constexpr std::uint8_t kSha256Type = 1; ///< the first byte of a signature's `extra`

/// Judges the signature objects of one image; what they cover is hashed once.
class Verifier {
public:
    Verifier(const Image& image, const std::vector<PublicKey>& keys)
        : image_(image), keys_(keys), groups_(signable_groups(image)), digests_(image) {}

    /// The states of one signature object: one a key that verified it, else one that says why not.
    Result<std::vector<SignatureState>> judge(const Descriptor& signature) {
        SignatureState state;
        state.object = signature.id;
        state.group = signature.is_group_link() ? signature.link & ~kGroupMask : 0;
        if (!signature.is_group_link()) {
            return refused(state,
                           "it is linked to one object, as the signatures of Singularity 3.0 to "
                           "3.5 were, and leaves the image's metadata unprotected");
        }
        if (!std::binary_search(groups_.begin(), groups_.end(), state.group)) {
            return refused(state, fmt::format("group {} has no objects (any more)", state.group));
        }
        CYBELE_TRY(const std::string text, image_.read_object(signature, kMaximumSignatureSize));
        if (text.starts_with("-----BEGIN PGP")) {
            return refused(state, "it is an OpenPGP signature, which a PEM key cannot verify");
        }
        const Result<Envelope> envelope = parse_envelope(text);
        if (!envelope) {
            return refused(state, reason_of(envelope.error()));
        }
        if (envelope->payload_type != kSifMetadataType) {
            return refused(state, "it signs something else than the metadata of a SIF");
        }
        if (!envelope->signatures.empty()) {
            state.claimed_key = envelope->signatures.front().key_id;
        }
        if (signature.extra[0] != kSha256Type || signature.extra[1] != 0 ||
            signature.extra[2] != 0 || signature.extra[3] != 0) {
            return refused(state, "its descriptor names another hash than SHA-256");
        }
        return judge_envelope(state, *envelope);
    }

private:
    static std::vector<SignatureState> refused(SignatureState state, std::string because) {
        state.because = std::move(because);
        return {std::move(state)};
    }

    static std::string reason_of(const Error& error) {
        const Fault& fault = error.faults().front();
        return fault.because.empty() ? fault.message : fault.message + ": " + fault.because;
    }

    Result<std::vector<SignatureState>> judge_envelope(SignatureState state,
                                                       const Envelope& envelope) {
        const std::vector<const PublicKey*> signers = signers_of(envelope, state.because);
        if (signers.empty()) {
            return std::vector<SignatureState>{state};
        }
        // Only now: what a stranger wrote is not looked into.
        const Result<SignedMessage> message = parse_message(envelope.payload);
        if (!message) {
            return refused(state, reason_of(message.error()));
        }
        CYBELE_TRY(state.because,
                   compare_message(*message, image_, state.group, digests_, state.covers));
        state.is_valid = state.because.empty();
        std::vector<SignatureState> states;
        for (const PublicKey* const key : signers) {
            state.key = key->fingerprint();
            state.key_file = key->path().native();
            states.push_back(state);
        }
        return states;
    }

    /// The keys that made signatures of the envelope, each once; without one, `because` says why.
    std::vector<const PublicKey*> signers_of(const Envelope& envelope, std::string& because) const {
        const std::string bytes =
            pre_authentication_encoding(envelope.payload_type, envelope.payload);
        std::vector<const PublicKey*> signers;
        bool is_tried = false;
        for (const PublicKey& key : keys_) {
            const bool is_known =
                std::any_of(signers.begin(), signers.end(), [&](const PublicKey* other) {
                    return other->fingerprint() == key.fingerprint();
                });
            for (const EnvelopeSignature& signature : envelope.signatures) {
                if (is_known || (!signature.key_id.empty() && !key.envelope_id().empty() &&
                                 signature.key_id != key.envelope_id())) {
                    continue;
                }
                is_tried = true;
                if (key.verifies(bytes, signature.bytes)) {
                    signers.push_back(&key);
                    break;
                }
            }
        }
        if (signers.empty()) {
            because = is_tried ? "it does not match the given key"
                               : fmt::format("it was made with another key ({})", ids_of(envelope));
        }
        return signers;
    }

    static std::string ids_of(const Envelope& envelope) {
        std::string ids;
        for (const EnvelopeSignature& signature : envelope.signatures) {
            ids += (ids.empty() ? "" : ", ") + printable(signature.key_id);
        }
        return ids.empty() ? "none is named" : ids;
    }

    const Image& image_;
    const std::vector<PublicKey>& keys_;
    std::vector<std::uint32_t> groups_;
    ObjectDigests digests_;
};

/// Why a group does not count as verified; empty: it does.
std::string judge_group(const Verification& verification, std::uint32_t group) {
    std::string because = fmt::format("group {} is not signed", group);
    bool has_signature = false;
    for (const SignatureState& state : verification.signatures) {
        if (state.group != group) {
            continue;
        }
        if (state.is_valid) {
            return {};
        }
        if (!has_signature) {
            because = fmt::format("signature {}: {}", state.object, state.because);
            has_signature = true;
        }
    }
    return because;
}

void conclude(const Image& image, Verification& verification) {
    std::vector<std::string> reasons;
    for (const Descriptor& descriptor : image.descriptors()) {
        if (descriptor.group == 0 && descriptor.type != DataType::kSignature) {
            reasons.push_back(fmt::format(
                "object {} belongs to no group, so no signature covers it", descriptor.id));
        }
    }
    const auto groups = signable_groups(image);
    if (verification.signatures.empty()) {
        reasons.insert(reasons.begin(), "the image is not signed");
    } else {
        for (const std::uint32_t group : groups) {
            if (std::string because = judge_group(verification, group); !because.empty()) {
                reasons.push_back(std::move(because));
            }
        }
        for (const SignatureState& state : verification.signatures) {
            if (!std::binary_search(groups.begin(), groups.end(), state.group)) {
                reasons.push_back(fmt::format("signature {}: {}", state.object, state.because));
            }
        }
    }
    verification.is_verified = reasons.empty();
    verification.because = fmt::format("{}", fmt::join(reasons, "; "));
}

} // namespace

Result<Verification> verify_image(const fs::path& path, const std::vector<fs::path>& keys) {
    if (keys.empty()) {
        return fail(ErrorCode::kUsage,
                    "no key to verify with",
                    "a signature says nothing without the key of somebody who is trusted",
                    "give the public key of the one who signed the image: --key FILE");
    }
    std::vector<PublicKey> loaded;
    for (const fs::path& key : keys) {
        CYBELE_TRY(PublicKey public_key, PublicKey::read(key));
        loaded.push_back(std::move(public_key));
    }
    CYBELE_TRY(const Image image, Image::open(path));
    Verifier verifier(image, loaded);
    Verification verification;
    for (const Descriptor& descriptor : image.descriptors()) {
        if (descriptor.type != DataType::kSignature) {
            continue;
        }
        CYBELE_TRY(std::vector<SignatureState> states, verifier.judge(descriptor));
        std::move(states.begin(), states.end(), std::back_inserter(verification.signatures));
    }
    conclude(image, verification);
    return verification;
}

} // namespace cybele::images
