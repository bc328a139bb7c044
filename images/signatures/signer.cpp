// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/signer.hpp"

#include <fmt/format.h>

namespace cybele::images {

namespace {

void take(const CertificateFinding& found, SignatureState& state) {
    state.signer = "certificate:" + found.fingerprint;
    state.key = found.key;
    state.key_file = found.file;
    state.subject = found.subject;
    state.root = found.root;
    state.root_identity = found.root_identity;
    state.stamped = found.stamped;
    state.warnings = found.warnings;
    state.because = found.is_valid ? "" : found.because;
    state.help = found.is_valid ? "" : found.help;
    state.gap = found.lacks_issuer ? SignerGap::kIssuer : SignerGap::kNone;
}

} // namespace

Result<void> find_signer(std::string_view bytes,
                         const EnvelopeSignature& signature,
                         const Trust& trust,
                         SignatureState& state) {
    bool is_claimed = signature.key_id.empty();
    for (const PublicKey& key : trust.keys) { // all of them: the key id is not signed
        is_claimed =
            is_claimed || key.envelope_id().empty() || signature.key_id == key.envelope_id();
        if (key.verifies(bytes, signature.bytes)) {
            state.signer = "key:" + key.fingerprint();
            state.key = key.fingerprint();
            state.key_file = key.path().native();
            return {};
        }
    }
    if (trust.certificate_judge) {
        CYBELE_TRY(const auto found, trust.certificate_judge(bytes, signature));
        if (found) {
            take(*found, state);
            return {};
        }
    }
    if (trust.keys.empty() && !trust.certificate_judge) {
        state.gap = SignerGap::kAnyPemKey;
        state.because = "it was made with a PEM key, and none to verify it with was given";
    } else if (is_claimed) {
        state.because = "it does not match the given key";
    } else {
        state.gap = SignerGap::kOtherPemKey;
        state.because =
            fmt::format("it was made with another key ({})",
                        state.claimed_key.empty() ? "none is named" : state.claimed_key);
    }
    return {};
}

Result<std::vector<SignatureState>> judge_envelope(const Envelope& envelope, const Trust& trust) {
    const std::string bytes = pre_authentication_encoding(envelope.payload_type, envelope.payload);
    std::vector<SignatureState> states;
    for (const EnvelopeSignature& signature : envelope.signatures) {
        SignatureState state;
        EnvelopeSignature nameless = signature; // others name their keys in ways of their own
        nameless.key_id.clear();
        CYBELE_CHECK(find_signer(bytes, nameless, trust, state));
        state.is_valid = !state.signer.empty() && state.because.empty();
        states.push_back(std::move(state));
    }
    return states;
}

} // namespace cybele::images
