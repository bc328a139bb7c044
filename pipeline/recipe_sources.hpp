// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/files/listing.hpp"
#include "recipes/model/lock.hpp"
#include "recipes/model/recipe.hpp"
#include "registry/store/place.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// A file or directory of this machine that is copied into an image.
struct SourceFile {
    std::string path;   ///< as the Recipe names it: relative to its folder, or absolute
    std::string mode;   ///< octal, with the kind of file: 100644
    std::string digest; ///< SHA-256 (hex) of a file; empty: it has no content, or cannot be read

    bool operator==(const SourceFile&) const = default;
};

/// What an image is made from, as far as it can change: the image carries it as JSON
/// (images::sources_object()).
struct RecipeSources {
    std::string recipe;                        ///< recipes::Recipe::digest
    std::string name;                          ///< of the variant
    std::map<std::string, std::string> fields; ///< field of the Recipe → SHA-256 (hex)
    std::string lock; ///< recipes::lock_digest(); empty: no Lock; kUnlocked: it was to be ignored
    std::vector<SourceFile> files; ///< by path; bases that are files too

    static constexpr std::string_view kUnlocked = "unlocked";
};

struct SourcesRequest {
    const recipes::Recipe* recipe = nullptr;
    const recipes::LockVariant* lock = nullptr;
    bool ignores_lock = false;
    registry::StoreFolder store; ///< where bases `store:…` are
};

/// The rules by which an image of the Recipe takes files; `image` is no source of itself.
[[nodiscard]] Result<builder::BuildContext> rules_of_recipe(const recipes::Recipe& recipe,
                                                            const std::filesystem::path& image);

/// Lists what an image of the Recipe is made from now. The content of a file is read only where
/// `files` does not know it. kInput, at its place in the Recipe, for a file that is missing.
[[nodiscard]] Result<RecipeSources> find_recipe_sources(const SourcesRequest& request,
                                                        builder::ContextFiles& files,
                                                        const Environment& environment);

/// As JSON: the same bytes for the same sources.
[[nodiscard]] std::string print_recipe_sources(const RecipeSources& sources);

/// kInput for any other text.
[[nodiscard]] Result<RecipeSources> parse_recipe_sources(std::string_view text);

/// What changed between two of them, a phrase each ("src/x.py changed"). Whether a Lock is
/// fulfilled is not asked of an image that was built without regard to it.
[[nodiscard]] std::vector<std::string> changes_between(const RecipeSources& before,
                                                       const RecipeSources& now);

} // namespace cybele::pipeline
