// SPDX-License-Identifier: Apache-2.0
#include "pipeline/recipe_image.hpp"

#include "images/inspection/sources.hpp"
#include "images/sif/sif.hpp"
#include "pipeline/recipe_lock.hpp"
#include "pipeline/recipe_sources.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

Result<recipes::Recipe>
read_meant(const launchers::Job& job, const launchers::JobImage& meant, const fs::path& file) {
    CYBELE_TRY(std::string text,
               read_file(file).map_error(during("reading the Recipe of the job")));
    auto recipe = recipes::read_variant(std::move(text), file, {}, meant.variant);
    if (!recipe && recipe.error().code() == ErrorCode::kUsage) {
        const Fault& fault = recipe.error().faults().front();
        return fail(job.fault_at(
            "image.variant", problem(fault.id, fault.message), fault.because, fault.help));
    }
    if (!recipe) {
        return recipe;
    }
    if (meant.variant.empty() && !recipe->variants.empty()) {
        return fail(
            job.fault_at("image",
                         problem("job-names-no-variant",
                                 fmt::format("the Recipe has {} variants, and the Job names none",
                                             recipe->variants.size())),
                         fmt::format("they are {}", fmt::join(recipe->variants, ", ")),
                         fmt::format("write `image: {{recipe: {}, variant: {}}}`",
                                     printable(meant.recipe),
                                     recipe->variants.front())));
    }
    return recipe;
}

/// What the image says that it was made from; nothing where it says nothing that can be read.
Result<std::optional<RecipeSources>> sources_in(const fs::path& file) {
    CYBELE_TRY(const images::Image image, images::Image::open(file));
    CYBELE_TRY(const auto text, images::read_sources(image));
    if (!text) {
        return std::optional<RecipeSources>();
    }
    auto sources = parse_recipe_sources(*text);
    return sources ? std::optional(std::move(*sources)) : std::nullopt;
}

} // namespace

Result<RecipeImage> image_of_job(const launchers::Job& job) {
    const launchers::JobImage meant = job.image.value_or(launchers::JobImage());
    RecipeImage image;
    image.recipe_file = job.place(meant.recipe);
    CYBELE_TRY(image.recipe, read_meant(job, meant, image.recipe_file));
    image.name = (fs::path(meant.recipe).parent_path() / (image.recipe.name + ".sif")).native();
    image.file = job.place(image.name);
    return image;
}

std::string ImageState::because() const {
    return is_missing ? "it does not exist" : fmt::format("{}", fmt::join(changes, ", "));
}

Result<ImageState> state_of_image(const RecipeImage& image, const ImageBuild& build) {
    ImageState state;
    std::error_code error;
    state.is_missing = !fs::exists(image.file, error);
    std::optional<RecipeSources> before;
    if (!state.is_missing) {
        CYBELE_TRY(before, sources_in(image.file));
    }
    const bool is_unlocked = before && before->lock == RecipeSources::kUnlocked;
    std::optional<recipes::LockVariant> lock;
    if (!build.recipe.ignores_lock && !is_unlocked) {
        CYBELE_TRY(lock, find_lock(image.recipe, image.recipe_file));
    }
    state.is_unlocked = is_unlocked && fs::exists(lock_path(image.recipe_file), error);
    const SourcesRequest request{&image.recipe,
                                 lock ? &*lock : nullptr,
                                 build.recipe.ignores_lock,
                                 build.settings.bases.store};
    CYBELE_TRY(auto rules, rules_of_recipe(image.recipe, image.file));
    builder::ContextFiles files(
        std::move(rules),
        std::nullopt,
        builder::ContextFiles::Reads::kAll,
        registry::KnownFiles::open_own(build.settings.environment.cache_directory()));
    CYBELE_TRY(const RecipeSources now,
               find_recipe_sources(request, files, build.settings.environment));
    files.known().save();
    if (before) {
        // Printed as the image has it: names that are not UTF-8 lose bytes there.
        CYBELE_TRY(const RecipeSources printed, parse_recipe_sources(print_recipe_sources(now)));
        state.changes = changes_between(*before, printed);
    } else if (!state.is_missing) {
        state.changes = {"it does not say what it was made from"};
    }
    return state;
}

} // namespace cybele::pipeline
