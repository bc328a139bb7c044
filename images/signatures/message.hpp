// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "images/signatures/digest.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The message that a SIF signature signs (reference: apptainer/sif, pkg/integrity/metadata.go).
namespace cybele::images {

struct SignedObject {
    std::uint32_t relative_id = 0; ///< from the smallest id of the group
    std::string descriptor_digest;
    std::string object_digest;
};

struct SignedMessage {
    std::string header_digest;
    std::vector<SignedObject> objects;
};

/// Groups that have objects other than signatures, ascending.
[[nodiscard]] std::vector<std::uint32_t> signable_groups(const Image& image);

/// The used objects of a group, ascending by id; Apptainer counts signature objects that some
/// old writers put into a group.
[[nodiscard]] std::vector<const Descriptor*> group_objects(const Image& image, std::uint32_t group);

/// The message over a whole group, or over those of its objects that `only` names.
[[nodiscard]] Result<SignedMessage> make_message(const Image& image,
                                                 std::uint32_t group,
                                                 ObjectDigests& digests,
                                                 const std::vector<std::uint32_t>& only = {});

/// Compact JSON in Apptainer's order, to the byte.
[[nodiscard]] std::string write_message(const SignedMessage& message);
/// kInput: no such message, or a digest of an unknown algorithm.
[[nodiscard]] Result<SignedMessage> parse_message(std::string_view text);

/// Tells the digests what compare_message() will ask for.
void expect_digests(const SignedMessage& message,
                    const Image& image,
                    std::uint32_t group,
                    ObjectDigests& digests);

/// Why the image is not what the message says of objects of the group; empty: it is. Ids of the
/// objects that the message names go to `covers`; a group may have more. An error only where the
/// image cannot be read.
[[nodiscard]] Result<std::string> compare_message(const SignedMessage& message,
                                                  const Image& image,
                                                  std::uint32_t group,
                                                  ObjectDigests& digests,
                                                  std::vector<std::uint32_t>& covers);

} // namespace cybele::images
