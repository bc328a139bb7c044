// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/forms/ledger.hpp"
#include "recipes/import/import_kind.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

/// What lies at a path of the build context.
enum class PathKind { kUnknown, kFile, kDirectory };

/// What an import depends on; it asks nothing else, so the same request gives the same bytes.
struct ImportRequest {
    std::string text;
    std::filesystem::path file;
    ImportKind kind = ImportKind::kDockerfile;
    std::string name;               ///< of the Recipe; empty: the file says it, else
    std::string folder_name;        ///< what its folder is called, as a name
    std::string base = "debian:12"; ///< where the file names none
    /// Of the folder that has installers (micromamba, Spack): the argument `sources`.
    std::string sources = "https://sources.example";
    std::map<std::string, std::string> build_arguments; ///< of a Dockerfile
    /// Also lift what is nearly the same: packages without those they recommend, pip into a venv.
    bool lifts_all = false;
    /// Reads a file that the imported one names (`-r other.txt`); empty: such lines are named.
    std::function<Result<std::string>(const std::filesystem::path&)> read;
    std::function<PathKind(const std::filesystem::path&)> look; ///< empty: nothing is known
    /// From the Recipe's folder to the file's; empty: they are the same.
    std::filesystem::path way;
};

/// A Recipe made from another format.
struct Imported {
    std::string name;
    std::string text; ///< yaml, which read_recipe() takes
    std::vector<ImportedLine> lines;
    /// What was not carried (is_warning, "not converted: …") and what means something a little
    /// different ("converted, but: …"), each with its place; they stand in the text as comments
    /// too.
    std::vector<Fault> notes;
    std::size_t lost = 0; ///< notes of things that were not carried
    /// For each of the Recipe's stages, and at last for the image, the line of each step in the
    /// file; 0 where it is not known.
    std::vector<std::vector<std::size_t>> step_lines;
};

/// All faults of the input at once, each with its place (kInput).
[[nodiscard]] Result<Imported> import_recipe(const ImportRequest& request);

} // namespace cybele::recipes
