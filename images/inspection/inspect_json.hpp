// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inspection/inspect.hpp"
#include "images/inspection/layout_root.hpp"
#include "images/squashfs/file_node.hpp"
#include "support/error.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace cybele::images {

/// Name of the JSON object in a SIF that `apptainer inspect` reads instead of starting a container.
inline constexpr std::string_view kInspectObject = "inspect-metadata.json";

inline constexpr auto kReplaceBadUtf8 = nlohmann::json::error_handler_t::replace;

/// JSON as Go's encoder writes it: `<`, `>`, `&` and the two Unicode line ends escaped, bytes that
/// are no UTF-8 replaced. `tabs` 0: compact, 1: indented by tabs. No final newline.
[[nodiscard]] std::string print_json(const nlohmann::ordered_json& json, int tabs);

/// The object's text: {"data":{"attributes":{…}},"type":"container"}, what is empty left out,
/// values without trailing newlines (images notes 3.1).
[[nodiscard]] std::string print_inspection(const Inspection& inspection);
/// The same as a value, for a print of another form.
[[nodiscard]] nlohmann::ordered_json inspection_json(const Inspection& inspection);
/// kInput when it is no such JSON. Fields of other types are taken as empty.
[[nodiscard]] Result<Inspection> parse_inspection(std::string_view text);

/// What /.singularity.d of a root file system says. Of env/ only 10-docker*.sh and
/// 9*-environment.sh, as Apptainer shows.
[[nodiscard]] Result<Inspection> inspect_files(const FilePointer& root);
[[nodiscard]] Result<Inspection> inspect_root(const RootDirectory& root);

/// Does `inspect` show this file of env/?
[[nodiscard]] bool is_shown_environment(std::string_view name);

} // namespace cybele::images
