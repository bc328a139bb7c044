// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What verification finds in an image, before and after it is decided upon.
namespace cybele::images {

enum class SignatureKind {
    kUnknown, ///< neither of these
    kDsse,    ///< an envelope, signed with PEM keys
    kPgp,     ///< an OpenPGP clear-signed message
    kLegacy   ///< of Singularity 3.0 to 3.5: only bytes are covered
};
/// "dsse", "pgp", "legacy", "unknown": what the JSON form says.
[[nodiscard]] std::string_view name_of(SignatureKind kind);

/// What is missing to know who made a signature that is not valid.
enum class SignerGap {
    kNone,        ///< nothing: it is not valid for another reason
    kAnyPemKey,   ///< no key to verify it with was given
    kOtherPemKey, ///< none of the given keys is the one that it names
    kPgpKey,      ///< the keyring does not have its key
    kIssuer       ///< the certificate of the authority that issued the signer's
};

/// What one signature was found to be; an envelope has one for each signature in it.
struct SignatureState {
    std::uint32_t object = 0; ///< id of the signature object
    std::uint32_t group = 0;  ///< whose objects it signs
    SignatureKind kind = SignatureKind::kUnknown;
    std::vector<std::uint32_t> covers; ///< ids of the signed objects; empty where nobody known
                                       ///< signed
    std::string signer;        ///< "key:SHA256:…", "pgp:…", "certificate:…"; empty: unknown
    std::string key;           ///< fingerprint of the public key that verified it; signers are
                               ///< counted by it, whatever certificates name it
    std::string key_file;      ///< where that key is, or the signer's certificate
    std::string claimed_key;   ///< what the signature says of its key, unproved
    std::string user_id;       ///< of an OpenPGP key
    std::string subject;       ///< of a certificate
    std::string root;          ///< subject of the certificate's root
    std::string root_identity; ///< identity_of() that root
    std::optional<std::int64_t> stamped; ///< Unix seconds, by a valid time stamp
    bool is_valid = false;
    bool is_of_other_bytes =
        false; ///< somebody known signed it, and what it signed was changed since
    SignerGap gap = SignerGap::kNone;
    std::string because; ///< why not
    std::string help;    ///< what to do about its certificate; empty: remedy_of() knows
    std::vector<std::string> warnings;
};

/// What was decided of one group.
struct GroupState {
    std::uint32_t group = 0;
    std::vector<std::uint32_t> objects;
    std::vector<std::uint32_t> unsigned_objects; ///< that no valid signature covers
    std::vector<std::string> signers;            ///< SignatureState::signer, of all its objects
    bool is_verified = false;
    SignerGap gap = SignerGap::kNone; ///< of the signature that `because` repeats
    std::string because;              ///< why not
};

struct Verification {
    std::vector<SignatureState> signatures;
    std::vector<GroupState> groups;           ///< those that were asked for
    std::vector<std::uint32_t> without_group; ///< objects that no signature can cover
    std::vector<std::uint32_t> orphans;       ///< signatures of groups without objects
    bool is_verified = false;
    std::string because; ///< why not
};

/// Whose valid signature it is, for people: "centre.pub (SHA256:…)".
[[nodiscard]] std::string signer_text(const SignatureState& state);

/// What to do with an image that is not verified, by its reason: changed, unsigned, or of a signer
/// whose key was not given.
[[nodiscard]] std::string_view remedy_of(const Verification& verification);

} // namespace cybele::images
