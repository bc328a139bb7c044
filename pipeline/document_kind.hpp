// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// All *.yaml of this kind that lie in a folder itself, sorted.
[[nodiscard]] std::vector<std::filesystem::path> documents_in(const std::filesystem::path& folder,
                                                              std::string_view kind);

/// All *.yaml of kind Recipe that lie in a folder itself, sorted.
[[nodiscard]] std::vector<std::filesystem::path> recipes_in(const std::filesystem::path& folder);

/// The one Recipe in a folder: NAME/NAME.yaml, else the only *.yaml of kind Recipe. kInput if there
/// is none or several.
[[nodiscard]] Result<std::filesystem::path> find_recipe(const std::filesystem::path& folder);

/// The document's kind ("Recipe", "Job", …), "" where it is no document of ours.
[[nodiscard]] std::string document_kind(const std::filesystem::path& file);

/// What a build begins with.
enum class SourceKind { kRecipe, kDefinition, kImage };

/// A Recipe by its kind or its name (*.yaml, *.yml), an image as image_source() knows it, else a
/// definition. "-" is a definition on standard input.
[[nodiscard]] SourceKind source_kind(const std::filesystem::path& source);

/// The file, the image or its reference itself; of another folder its one Recipe (find_recipe()),
/// or the one of its Project.
[[nodiscard]] Result<std::filesystem::path> find_source(const std::filesystem::path& path);

} // namespace cybele::pipeline
