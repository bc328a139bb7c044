// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace cybele::recipes {

/// Where an environment marker (PEP 508, what follows the `;` of a requirement) stops being one;
/// nothing where it is whole. What it asks is not judged.
[[nodiscard]] std::optional<std::size_t> marker_fault(std::string_view text);

} // namespace cybele::recipes
