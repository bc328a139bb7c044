// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// The kinds of documents that people write, in the order in which they are met.
[[nodiscard]] std::vector<const document::Kind*> document_kinds();

/// The kind of that name, in any case of letters; nullptr: none.
[[nodiscard]] const document::Kind* find_document_kind(std::string_view name);

/// The JSON schema of a kind of document, its name in any case of letters: the same bytes as
/// docs/schemas/NAME.schema.json. Nothing where there is no such kind.
[[nodiscard]] std::optional<std::string> schema_of(std::string_view kind);

/// Where documents that `init` and `recipe new` write look for their schema: this folder beside
/// them, named in the line `# yaml-language-server: $schema=…` that editors read.
inline constexpr std::string_view kSchemaFolder = ".schemas";

/// Puts the schemas of these kinds into kSchemaFolder below `folder`; gives the files.
[[nodiscard]] Result<std::vector<std::filesystem::path>>
write_schemas(const std::filesystem::path& folder, const std::vector<std::string_view>& kinds);

} // namespace cybele::pipeline
