// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace cybele::apiserver {

/// Order of two resourceVersions of one resource: decimal numbers of any length. Where one of them
/// is not a number, only equality is known.
[[nodiscard]] std::partial_ordering compare_revisions(std::string_view left,
                                                      std::string_view right);

/// The newer one; where that is not known, `later`, which was received later.
[[nodiscard]] std::string newer_revision(std::string_view earlier, std::string_view later);

} // namespace cybele::apiserver
