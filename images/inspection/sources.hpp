// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>

namespace cybele::images {

/// The object that says what an image was made from; the text is project/recipe_sources'.
[[nodiscard]] NewObject sources_object(std::string text);
/// Its text; nothing where the image has none.
[[nodiscard]] Result<std::optional<std::string>> read_sources(const Image& image);

} // namespace cybele::images
