// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/keys/key.hpp"
#include "images/openpgp/secret_key.hpp"
#include "images/sif/write.hpp"
#include "images/signatures/digest.hpp"
#include "images/signatures/verify.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::images {

/// A PEM key that signs, and the certificates that go beside its signature.
struct EnvelopeSigner {
    PrivateKey key;
    std::string chain; ///< PEM, the leaf first; empty: none
};

/// Who signs: PEM keys make one envelope together, an OpenPGP key a message of its own.
struct Signers {
    std::vector<EnvelopeSigner> keys;
    std::optional<openpgp::SecretKey> pgp; ///< unlocked
    /// With the public part of `pgp`, by which it is seen that it signed already; else it signs
    /// again.
    openpgp::Keyring pgp_ring;
    /// Gets a time stamp for the bytes of a signature that has a chain; unset: none is stored.
    std::function<Result<std::string>(std::string_view signature)> stamp;
};

struct SignOptions {
    Selection selection; ///< one group, or some objects, each signed with its group's others named
    bool force = false;  ///< mixes kinds, signs again and replaces the signers' own signatures
    bool only_adds = false; ///< with `force`: replaces none
    bool replaces = false;  ///< with `force`: replaces all of the signed groups, whoever made them
    std::int64_t now = 0;   ///< Unix seconds
    ObjectDigests::Progress progress;
    std::function<void(Fault)> on_warning;
};

/// What signing did.
struct SignReport {
    std::vector<std::uint32_t> groups;         ///< that were signed now
    std::vector<std::uint32_t> already_signed; ///< by all of the signers, as they are
    std::vector<std::uint32_t> superseded;     ///< ids of signatures that the new ones replace
};

/// The signature objects for an open image, not yet in it: for NewImage::finish. kInput: an object
/// without a group, a group or object that is not there, a mixture of kinds (Apptainer
/// verifies a group only by one kind) without `force`.
[[nodiscard]] Result<std::vector<NewObject>> make_signatures(const Image& image,
                                                             const Signers& signers,
                                                             const SignOptions& options,
                                                             SignReport& done);

/// Adds the signatures to an image; nothing is written where all of it is signed already.
[[nodiscard]] Result<SignReport>
sign_image(const std::filesystem::path& path, const Signers& signers, const SignOptions& options);

} // namespace cybele::images
