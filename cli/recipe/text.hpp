// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>

namespace cybele::cli {

/// The text of a Recipe: of a file, or of the Recipe of the catalogue that has this name.
[[nodiscard]] Result<std::string> recipe_text(const std::string& file);

} // namespace cybele::cli
