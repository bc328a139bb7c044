// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif.hpp"
#include "images/signature_digest.hpp"
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

/// The used objects of a group, ascending by id; the reference counts signature objects that some
/// old writers put into a group.
[[nodiscard]] std::vector<const Descriptor*> group_objects(const Image& image, std::uint32_t group);

/// The message over a whole group.
[[nodiscard]] Result<SignedMessage>
make_message(const Image& image, std::uint32_t group, ObjectDigests& digests);

/// Compact JSON in the reference's order, to the byte.
[[nodiscard]] std::string write_message(const SignedMessage& message);
/// kInput: no such message, or a digest of an unknown algorithm.
[[nodiscard]] Result<SignedMessage> parse_message(std::string_view text);

/// Why the image is not what the message says of the group; empty: it is. Ids of the objects go to
/// `covers`. An error only where the image cannot be read.
[[nodiscard]] Result<std::string> compare_message(const SignedMessage& message,
                                                  const Image& image,
                                                  std::uint32_t group,
                                                  ObjectDigests& digests,
                                                  std::vector<std::uint32_t>& covers);

} // namespace cybele::images
