// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/revocation.hpp"

#include <vector>

/// Certificate revocation lists (RFC 5280 section 5), given ones and those of distribution points.
/// Each gives one status a list that was asked; an empty result: none is there to ask.
namespace cybele::images {

[[nodiscard]] std::vector<RevocationStatus> ask_given_lists(const RevocationQuestion& question);
[[nodiscard]] std::vector<RevocationStatus>
ask_distribution_points(const RevocationQuestion& question);

/// What a list says of the certificate, if it is its issuer's, whole, and not one of a kind that
/// covers other certificates (indirect lists, deltas, lists of some reasons).
[[nodiscard]] RevocationAnswer read_list(const RevocationListHandle& list,
                                         const RevocationQuestion& question);

} // namespace cybele::images
