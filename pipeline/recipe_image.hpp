// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "pipeline/image_build.hpp"
#include "recipes/model/recipe.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::pipeline {

/// The image that a Job means by `image: {recipe, variant}`.
struct RecipeImage {
    recipes::Recipe recipe;            ///< of the variant
    std::filesystem::path recipe_file; ///< seen from here
    std::filesystem::path file;        ///< of the image, seen from here
    std::string name;                  ///< of the image, seen from the Job's folder

    /// The label `cybelectl.recipe` of an image that was made from this text of the Recipe.
    [[nodiscard]] std::string label() const {
        return "sha256:" + recipe.digest;
    }
};

/// Which image that is, from the Job and its Recipe alone: NAME.sif next to the Recipe. kInput, at
/// the Job's `image`, where the variant does not exist, or where there are several and none is
/// named.
[[nodiscard]] Result<RecipeImage> image_of_job(const launchers::Job& job);

/// Why an image is not what a build would make now; empty: it is current.
struct ImageState {
    bool is_missing = false;
    std::vector<std::string> changes; ///< as changes_between()
    bool is_unlocked = false;         ///< it was built with --unlocked, and there is a Lock

    [[nodiscard]] bool is_current() const {
        return !is_missing && changes.empty();
    }
    /// "src/x.py changed, the Lock changed"
    [[nodiscard]] std::string because() const;
};

/// Compares an image with the Recipe, the Lock and the files that `build` would take. Their content
/// is read again only where size or time differ, as the cache of the build's environment knows
/// them. kInput where the build itself would refuse: a
/// stale Lock, a file that is missing.
[[nodiscard]] Result<ImageState> state_of_image(const RecipeImage& image, const ImageBuild& build);

} // namespace cybele::pipeline
