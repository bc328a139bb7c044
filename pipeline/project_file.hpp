// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::pipeline {

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

/// The Project of a folder: its cybelectl.yaml, else one with the usual places. kInput where it is
/// no folder.
[[nodiscard]] Result<ProjectFile> find_project(const std::filesystem::path& folder);

/// Documents that patterns of a Project name, but Locks; relative to its folder, sorted.
[[nodiscard]] std::vector<std::filesystem::path>
documents_of(const std::filesystem::path& folder, const std::vector<std::string>& patterns);

/// The Recipes of a folder: those of its Project, else all that lie in it; a file itself.
[[nodiscard]] Result<std::vector<std::filesystem::path>>
recipe_files(const std::filesystem::path& path);

/// The Jobs of a folder: its job.yaml and those of its Project, else all that lie in it; a file
/// itself. Empty: it has none.
[[nodiscard]] Result<std::vector<std::filesystem::path>>
job_files(const std::filesystem::path& path);

/// The Sites of a Project's folder; none of a file, and where the Project cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> site_files(const std::filesystem::path& path);

} // namespace cybele::pipeline
