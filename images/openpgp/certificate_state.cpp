// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/certificate.hpp"
#include "images/openpgp/locked.hpp"
#include "images/openpgp/material.hpp"
#include "images/openpgp/packet.hpp"
#include "images/openpgp/signature.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::size_t kMaximumChecks = 256;

bool is_primary(Tag tag) {
    return tag == Tag::kPublicKey || tag == Tag::kSecretKey;
}

std::string revocation_text(const SignaturePacket& revocation) {
    constexpr std::string_view kReasons[] = {
        "", "it was superseded", "it is compromised", "it is no longer used"};
    const std::size_t code = revocation.revocation_code.value_or(0);
    std::string text = "it is revoked";
    if (code != 0 && code < std::size(kReasons)) {
        text += fmt::format(": {}", kReasons[code]);
    }
    if (!revocation.revocation_reason.empty()) {
        text += fmt::format(" ({})", printable(revocation.revocation_reason));
    }
    return text;
}

/// Reads one certificate's self-signatures; each that counts was checked with the primary key.
class Judge {
public:
    Judge(const std::vector<Component>& components, std::int64_t now)
        : components_(components), now_(now) {}

    CertificateState judge() {
        CertificateState state;
        const auto primary = read_public(components_.front().body);
        if (!primary) {
            return state;
        }
        primary_ = *primary;
        primary_body_ = components_.front().body.substr(
            0, primary_.size != 0 ? primary_.size : std::string::npos);
        fingerprint_ = fingerprint_of(primary_body_);
        state.keys.push_back(judge_primary(state.user_ids));
        for (const Component& component : components_) {
            if (is_key(component.tag) && !is_primary(component.tag)) {
                state.keys.push_back(judge_subkey(component));
            }
        }
        if (is_flooded_) {
            // What was not looked at may have been a revocation.
            state.keys.front().because =
                fmt::format("it has more than {} self-signatures", kMaximumChecks);
        }
        return state;
    }

private:
    /// The newest signature of the primary key of one of these types over `data`.
    std::optional<SignaturePacket> newest(const Component& component,
                                          SignatureType from,
                                          SignatureType to,
                                          std::string_view data) {
        std::optional<SignaturePacket> best;
        for (const std::string& body : component.signatures) {
            auto read = read_signature(body);
            if (!read || read->type < from || read->type > to || !read->refused.empty() ||
                !read->names_issuer(fingerprint_) || read->is_expired(now_) ||
                read->created > now_ + kClockTolerance || read->created < primary_.created ||
                (best && best->created >= read->created)) {
                continue;
            }
            if (++checks_ > kMaximumChecks) {
                is_flooded_ = true;
                break;
            }
            if (holds(*read, primary_, data)) {
                best = std::move(*read);
            }
        }
        return best;
    }

    std::optional<SignaturePacket>
    newest(const Component& component, SignatureType type, std::string_view data) {
        return newest(component, type, type, data);
    }

    /// Fills in what the key's packet says.
    static KeyState described(const Component& component, const PublicMaterial& material) {
        KeyState key;
        key.algorithm = material.name;
        key.created = material.created;
        key.because = material.because;
        key.secret = secret_part_of(component, material);
        return key;
    }

    static void limit(KeyState& key, const SignaturePacket& binding, unsigned flags_otherwise) {
        const unsigned flags = binding.key_flags.value_or(flags_otherwise);
        key.can_certify = (flags & kMayCertify) != 0;
        key.can_sign = (flags & kMaySign) != 0;
        if (binding.key_expires_after) {
            key.expires = key.created + *binding.key_expires_after;
        }
    }

    KeyState judge_primary(std::vector<std::string>& user_ids) {
        const Component& component = components_.front();
        KeyState key = described(component, primary_);
        key.fingerprint = fingerprint_;
        const std::string data = hashed_key(primary_body_);
        const auto revocation = newest(component, SignatureType::kKeyRevocation, data);
        std::optional<SignaturePacket> binding = judge_user_ids(user_ids, data);
        if (!binding) {
            binding = newest(component, SignatureType::kDirectKey, data);
        }
        if (binding) {
            limit(key, *binding, kMayCertify | kMaySign);
        }
        if (key.because.empty() && revocation) {
            key.is_revoked = true;
            key.because = revocation_text(*revocation);
        } else if (key.because.empty() && !binding) {
            key.because = "no valid self-signature binds a user id to it";
        }
        return key;
    }

    /// The self-signature of the primary user id.
    std::optional<SignaturePacket> judge_user_ids(std::vector<std::string>& user_ids,
                                                  const std::string& primary) {
        std::optional<SignaturePacket> best;
        for (const Component& component : components_) {
            if (component.tag != Tag::kUserId) {
                continue;
            }
            const std::string data = primary + hashed_user_id(component.body);
            auto binding = newest(component,
                                  SignatureType::kGenericCertification,
                                  SignatureType::kPositiveCertification,
                                  data);
            const auto revocation =
                newest(component, SignatureType::kCertificationRevocation, data);
            if (!binding || (revocation && revocation->created >= binding->created)) {
                continue;
            }
            const bool is_better = !best ||
                                   (binding->is_primary_user_id && !best->is_primary_user_id) ||
                                   (binding->is_primary_user_id == best->is_primary_user_id &&
                                    binding->created > best->created);
            user_ids.insert(is_better ? user_ids.begin() : user_ids.end(), component.body);
            if (is_better) {
                best = std::move(binding);
            }
        }
        return best;
    }

    KeyState judge_subkey(const Component& component) {
        const auto read = read_public(component.body);
        if (!read) {
            KeyState unusable;
            unusable.because = "it is not of version 4, or damaged";
            return unusable;
        }
        KeyState key = described(component, *read);
        const std::string body =
            component.body.substr(0, read->size != 0 ? read->size : std::string::npos);
        key.fingerprint = fingerprint_of(body);
        const std::string data = hashed_key(primary_body_) + hashed_key(body);
        const auto revocation = newest(component, SignatureType::kSubkeyRevocation, data);
        const auto binding = newest(component, SignatureType::kSubkeyBinding, data);
        if (binding) {
            limit(key, *binding, 0);
        }
        if (revocation) {
            key.is_revoked = true;
            key.because = revocation_text(*revocation);
        } else if (!binding) {
            key.because = "no valid signature of the primary key binds it";
        } else if (key.can_sign && key.because.empty()) {
            key.because = judge_return(*binding, *read, data);
        }
        return key;
    }

    /// Why a signing subkey does not bind itself to the primary key in return; empty: it does.
    /// Without that anybody could put another's subkey under a key of his own.
    [[nodiscard]] std::string judge_return(const SignaturePacket& binding,
                                           const PublicMaterial& subkey,
                                           const std::string& data) const {
        if (binding.embedded.empty()) {
            return "it does not sign in return that it belongs to the primary key";
        }
        const auto read = read_signature(binding.embedded);
        if (!read || read->type != SignatureType::kPrimaryKeyBinding || !read->refused.empty() ||
            read->is_expired(now_) || !holds(*read, subkey, data)) {
            return "its signature in return, that it belongs to the primary key, is not valid";
        }
        return {};
    }

    const std::vector<Component>& components_;
    std::int64_t now_;
    PublicMaterial primary_;
    std::string primary_body_;
    std::string fingerprint_;
    std::size_t checks_ = 0;
    bool is_flooded_ = false;
};

} // namespace

CertificateState Certificate::state(std::int64_t now) const {
    return Judge(components_, now).judge();
}

} // namespace cybele::images::openpgp
