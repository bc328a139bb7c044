// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/yaml.hpp"

namespace cybele::recipes {

/// A TOML document, read by toml++, as the tree that yaml gives, with places; numbers, dates and
/// flags are scalars. Dotted keys are maps in maps; `[[name]]` is a list of maps.
[[nodiscard]] Result<yaml::Node> parse_toml(const yaml::Source& source, std::size_t file = 0);

} // namespace cybele::recipes
