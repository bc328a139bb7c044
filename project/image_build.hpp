// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/definition.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace cybele::project {

/// What `build` was asked for.
struct ImageBuild {
    std::filesystem::path source; ///< a Recipe, a definition file, or a folder with one Recipe
    std::filesystem::path output; ///< empty: NAME.sif beside the source
    std::filesystem::path sign_key;
    std::string builder = "embedded"; ///< embedded, apptainer, singularity
    std::string mirror;
    std::filesystem::path ca_file;
    definitions::BuildArguments arguments;
    std::string compression; ///< empty: the Recipe's, else zstd
    bool force = false;
    bool run_tests = true;
    bool use_cache = true;
    std::int64_t now = 0;
    bool is_deterministic = false;
    bool is_verbose = false;
    std::function<void(const std::string&)> on_step;
};

struct BuiltImage {
    std::filesystem::path image;
    std::uint64_t bytes = 0;
    std::string signed_by; ///< fingerprint file; empty: not signed
};

/// From a Recipe (or definition file) to an image, signed where a key is given. The key is read
/// before anything is built; an image of the same Recipe is replaced, any other file only with
/// `force`; nothing stands under the output's name before it is whole and signed.
[[nodiscard]] Result<BuiltImage> build_image(const ImageBuild& request,
                                             const Environment& environment);

/// The one Recipe in a folder: NAME/NAME.yaml, else the only *.yaml of kind Recipe. kInput if there
/// is none or several.
[[nodiscard]] Result<std::filesystem::path> find_recipe(const std::filesystem::path& folder);

/// The document's kind ("Recipe", "Job", …), "" where it is no document of ours.
[[nodiscard]] std::string document_kind(const std::filesystem::path& file);

} // namespace cybele::project
