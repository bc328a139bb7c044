// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "definitions/grammar/definition.hpp"
#include "pipeline/build_settings.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cybele::recipes {
struct Recipe;
}

namespace cybele::pipeline {

/// What `build` was asked for that concerns a definition file.
struct DefinitionRules {
    definitions::BuildArguments arguments;
    bool warns_unused_arguments = false; ///< of these: no error
    std::vector<std::string> sections;   ///< --section; empty: all
    bool follows_apptainer = false;      ///< relative paths, umask and variables as by Apptainer
    /// A directory in which the last stage goes on; empty: it begins with its base.
    std::filesystem::path update;
};

/// What `build` was asked for that concerns a Recipe.
struct RecipeChoice {
    std::shared_ptr<const recipes::Recipe> read;  ///< unset: it is read from the source
    std::string variant;                          ///< of a Recipe with a matrix
    std::map<std::string, std::string> arguments; ///< `--arg x=v`
    /// Builds though the Lock is stale, or pip packages have no checksum.
    bool ignores_lock = false;
};

/// The signed provenance of an image.
struct ProvenanceFile {
    std::filesystem::path file;          ///< empty: none. It needs a sign_key.
    std::function<std::int64_t()> clock; ///< Unix seconds, for its end; empty: the build's time
};

/// What `build` was asked for.
struct ImageBuild {
    BuildSettings settings;
    /// A Recipe, a definition file, a folder with one Recipe, or an image (image_source()).
    std::filesystem::path source;
    RecipeChoice recipe;
    DefinitionRules definition;
    builder::StepRules steps;
    std::filesystem::path output; ///< empty: NAME.sif beside the source
    std::string compression;      ///< empty: the Recipe's, else zstd
    std::string sbom;             ///< spdx, none; empty: the Recipe's, of a definition none
    ProvenanceFile provenance;
    bool force = false;
    bool use_cache = true;
    /// Builds a second time, without what is kept, and compares.
    bool verifies_reproducible = false;
};

struct BuiltImage {
    std::filesystem::path image;
    std::uint64_t bytes = 0;
    std::string signed_by;      ///< file of the key; empty: not signed
    bool is_reproduced = false; ///< a second build gave the same
};

struct ImagePlan;

/// What the image is built from, read and rendered; the output, the provenance file and the files
/// of the host are checked. Nothing is built. All faults of a document at once.
[[nodiscard]] Result<ImagePlan> read_source(const ImageBuild& request);

/// From a Recipe (or definition file) to an image, signed where a key is given. The key is read
/// before anything is built; an image of the same Recipe is replaced, any other file, and a signed
/// image by an unsigned one, only with `force`; nothing stands under the output's name before it is
/// whole and signed.
[[nodiscard]] Result<BuiltImage> build_image(const ImageBuild& request);

} // namespace cybele::pipeline
