// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/secret_key.hpp"

#include "images/openpgp/locked.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::string_view kMakeOwnKey = "make one: cybelectl key new --pgp";

bool has_expired(const KeyState& key, std::int64_t now) {
    return key.expires && *key.expires <= now;
}

/// Why this key cannot sign now; empty: it can.
std::string why_not(const KeyState& key, std::int64_t now) {
    if (!key.because.empty()) {
        return key.because;
    }
    if (!key.can_sign) {
        return "it may not sign";
    }
    if (has_expired(key, now)) {
        return "it has expired";
    }
    if (key.created > now) {
        return "it was made in the future, says this machine's clock";
    }
    if (key.secret == SecretPart::kNone) {
        return "its private part is not there";
    }
    if (key.secret == SecretPart::kElsewhere) {
        return "its private key is on a card or stored offline";
    }
    return {};
}

/// Bodies of the key packets, in the order of CertificateState::keys.
std::vector<const std::string*> bodies_of(const Certificate& certificate) {
    std::vector<const std::string*> bodies;
    for (const Component& component : certificate.components()) {
        if (is_key(component.tag)) {
            bodies.push_back(&component.body);
        }
    }
    return bodies;
}

} // namespace

Result<SecretKey> SecretKey::choose(const Certificate& certificate, std::int64_t now) {
    const CertificateState state = certificate.state(now);
    const std::vector<const std::string*> bodies = bodies_of(certificate);
    const KeyState* chosen = nullptr;
    std::size_t index = 0;
    std::string because = state.keys.empty() ? "it is damaged" : why_not(state.keys[0], now);
    // A primary key that is revoked or expired takes its subkeys with it.
    const bool is_dead =
        state.keys.empty() || !state.keys[0].because.empty() || has_expired(state.keys[0], now);
    if (because.empty()) {
        chosen = &state.keys[0];
    }
    for (std::size_t i = 1; !is_dead && chosen != &state.keys[0] && i < state.keys.size(); ++i) {
        const KeyState& key = state.keys[i];
        if (why_not(key, now).empty() && (chosen == nullptr || key.created >= chosen->created)) {
            chosen = &key;
            index = i;
        }
    }
    if (chosen == nullptr || index >= bodies.size()) {
        return fail(
            ErrorCode::kInput,
            problem("openpgp-certificate-cannot-sign",
                    fmt::format("the OpenPGP key {} cannot sign", certificate.fingerprint())),
            because,
            std::string(kMakeOwnKey));
    }
    SecretKey key;
    key.primary_fingerprint_ = certificate.fingerprint();
    key.fingerprint_ = chosen->fingerprint;
    key.user_id_ = state.name();
    CYBELE_TRY(key.public_, read_public(*bodies[index]));
    key.locked_ = *bodies[index];
    if (chosen->secret == SecretPart::kClear) {
        CYBELE_CHECK(key.unlock(Secret()));
    }
    return key;
}

Result<void> SecretKey::unlock(const Secret& passphrase) {
    const std::string_view body = locked_;
    auto numbers = open_numbers(body.substr(public_.size), passphrase);
    if (!numbers) {
        Fault fault = numbers.error().faults().front();
        fault.because =
            fmt::format("key {} of {}: {}", fingerprint_, printable(user_id_), fault.because);
        return fail(std::move(fault));
    }
    CYBELE_TRY(key_, read_private(public_, body.substr(0, public_.size), numbers->view()));
    wipe(locked_);
    return {};
}

HashAlgorithm SecretKey::hash() const {
    if (public_.hash_bits > 384) {
        return HashAlgorithm::kSha512;
    }
    return public_.hash_bits > 256 ? HashAlgorithm::kSha384 : HashAlgorithm::kSha256;
}

Result<std::string> SecretKey::sign(const std::string& digest) const {
    if (is_locked()) {
        return fail(ErrorCode::kInput,
                    problem("openpgp-key-locked",
                            fmt::format("the OpenPGP key {} is locked", fingerprint_)),
                    "its passphrase was not given",
                    "give it: --passphrase-file FILE");
    }
    return sign_digest(public_, key_, hash(), digest);
}

} // namespace cybele::images::openpgp
