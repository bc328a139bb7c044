// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/keyring.hpp"
#include "images/sif/sif.hpp"
#include "images/signatures/report.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <string_view>

/// Signatures of Singularity 3.0 to 3.5: a clear-signed digest over the bytes of one object or of
/// all objects of a group. Header, descriptors, names, types and the order of groups are not
/// covered, so they are looked at only where somebody asks for them.
namespace cybele::images {

/// Whose legacy signatures count.
struct LegacyTrust {
    const openpgp::Keyring& keyring;
    std::int64_t now; ///< Unix seconds
};

/// Whether a signature object's text is of that kind; what it says is unproved.
[[nodiscard]] bool is_legacy_signature(std::string_view text);

/// Judges one legacy signature, whose text was read, as of `now` (Unix seconds): signer, key, user
/// id, covers, is_valid, because. An error only where the image cannot be read.
[[nodiscard]] Result<void> judge_legacy(const Image& image,
                                        const Descriptor& signature,
                                        std::string_view text,
                                        const LegacyTrust& trust,
                                        SignatureState& state);

} // namespace cybele::images
