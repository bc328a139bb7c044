// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::project {

/// The name of the file in a project's folder.
inline constexpr std::string_view kProjectFile = "cybelectl.yaml";

/// Where a project's documents lie: the document of kind Project, read and checked. Patterns and
/// paths are relative to `folder`.
struct ProjectFile {
    std::vector<std::string> recipes{"recipes/*.yaml"};
    std::vector<std::string> jobs{"jobs/*.yaml"};
    std::vector<std::string> sites{"sites/*.yaml"};
    std::string output = "generated"; ///< NAME[.SITE].{def,sh,yaml} go there
    std::filesystem::path folder;
};

/// The table of the document of kind Project.
[[nodiscard]] const document::Kind& project_kind();

/// Reads a document of kind Project. All faults at once, each with its place (kInput).
[[nodiscard]] Result<ProjectFile> read_project(std::string text, const std::filesystem::path& file);

} // namespace cybele::project
