// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string>

namespace cybele::project {

/// The one Recipe in a folder: NAME/NAME.yaml, else the only *.yaml of kind Recipe. kInput if there
/// is none or several.
[[nodiscard]] Result<std::filesystem::path> find_recipe(const std::filesystem::path& folder);

/// The document's kind ("Recipe", "Job", …), "" where it is no document of ours.
[[nodiscard]] std::string document_kind(const std::filesystem::path& file);

/// Whether a file is read as a Recipe: by its kind, or by its name (*.yaml, *.yml); else it is a
/// definition.
[[nodiscard]] bool is_recipe(const std::filesystem::path& file);

/// The file itself; of a folder its one Recipe (find_recipe()).
[[nodiscard]] Result<std::filesystem::path> find_source(const std::filesystem::path& path);

} // namespace cybele::project
