// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/keys/key.hpp"
#include "images/openpgp/keyring.hpp"
#include "images/sif/image.hpp"
#include "images/signatures/digest.hpp"
#include "images/signatures/dsse.hpp"
#include "images/signatures/report.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::images {

/// What a certificate made of one signature of an envelope.
struct CertificateFinding {
    std::string fingerprint; ///< of the leaf
    std::string key;         ///< of the leaf: SHA256:…
    std::string file;        ///< empty: the chain lay beside the signature
    std::string subject;
    std::string root;
    std::string root_identity; ///< identity_of() it
    std::optional<std::int64_t> stamped;
    bool is_valid = false;
    bool lacks_issuer = false; ///< not valid for this reason
    std::string because;
    std::string help;
    std::vector<std::string> warnings;
};

/// Judges a signature over `bytes` by certificates; nothing where none of them made it.
using CertificateJudge = std::function<Result<std::optional<CertificateFinding>>(
    std::string_view bytes, const EnvelopeSignature& signature)>;

/// A certificate that is named as a signer.
struct NamedCertificate {
    std::string fingerprint; ///< of the leaf
    std::string key;         ///< of the leaf: SHA256:…
};

/// A root whose signers count.
struct NamedRoot {
    std::string identity; ///< identity_of() it
    std::string subject;
};

/// Judges a signature of the old kind; what it finds goes to the state (signer, covers, is_valid,
/// because).
using LegacyJudge = std::function<Result<void>(
    const Image& image, const Descriptor& signature, std::string_view text, SignatureState& state)>;

/// Whose signatures count.
struct Trust {
    std::vector<PublicKey> keys;
    std::optional<openpgp::Keyring> keyring;    ///< unset: OpenPGP signatures are not verified
    std::vector<std::string> pgp;               ///< fingerprints; empty: everybody in the keyring
    std::vector<NamedRoot> roots;               ///< that count as signers each
    std::vector<NamedCertificate> certificates; ///< that count as signers each
    CertificateJudge certificate_judge;         ///< unset: certificates are not looked at
    LegacyJudge legacy_judge;                   ///< unset: old signatures are refused
    std::string require = "any"; ///< any, all, or a decimal count of different signers
    std::int64_t now = 0;        ///< Unix seconds
};

/// What is asked about: everything, one group, or some objects.
struct Selection {
    std::optional<std::uint32_t> group;
    std::vector<std::uint32_t> objects;

    [[nodiscard]] bool is_whole() const {
        return !group && objects.empty();
    }
    /// kInput: a group without objects, an object that is not there, a signature.
    [[nodiscard]] Result<void> check(const Image& image) const;
    [[nodiscard]] bool has(const Descriptor& descriptor) const;
};

/// Judges every signature of the image (each on its own), then each group that was asked for: it is
/// verified when each of its objects is covered by valid signatures of as many signers as `require`
/// says. The whole image is verified when all groups are, no object is without a group and no
/// signature without objects. An error only where something cannot be read.
[[nodiscard]] Result<Verification> verify_signatures(const Image& image,
                                                     const Trust& trust,
                                                     const Selection& selection,
                                                     ObjectDigests::Progress progress = {});

/// Fills groups, is_verified and because from the states; a part of verify_signatures().
void decide(const Image& image,
            const Trust& trust,
            const Selection& selection,
            Verification& verification);

} // namespace cybele::images
