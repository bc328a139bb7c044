// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/image.hpp"

#include "images/sif/image.hpp"
#include "images/signatures/signed.hpp"
#include "launchers/documents/expand_help.hpp"
#include "registry/cache/known_files.hpp"
#include "submission/backends/connection.hpp"
#include "submission/submit/remote_image.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <memory>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

/// What a Job names by `…://`, and this version does not bring to where it runs.
Result<void> judge_remote(const JobInput& input, const Connection& connection) {
    if (auto fault = unstartable_image(input)) {
        return fail(Error(std::move(*fault)));
    }
    if (connection.is_service()) {
        return fail(input.job.fault_at(
            "image",
            problem("image-not-pulled-there",
                    printable(input.image) + " would not come to " + printable(shown(connection))),
            "it is pulled into this machine's store, and the job runs there",
            "pull it there, and name its path there"));
    }
    return {};
}

std::string variant_of(const JobInput& input) {
    return input.job.image ? input.job.image->variant : std::string();
}

/// The command that builds the image of a Job's Recipe.
std::string build_command(const JobInput& input, const pipeline::RecipeImage& made) {
    const std::string variant = variant_of(input);
    const fs::path& file = made.recipe_file;
    const fs::path shorter = file.lexically_normal(); // another file where a folder is a link
    std::error_code error;
    return "cybelectl build " +
           shell_quote((fs::equivalent(file, shorter, error) ? shorter : file).native()) +
           (variant.empty() ? "" : " --variant " + shell_quote(variant));
}

std::string image_file_name(const JobInput& input) {
    return printable(input.image_file.filename().native());
}

Fault not_current_fault(const JobInput& input,
                        const pipeline::RecipeImage& made,
                        const pipeline::ImageState& state,
                        std::string help) {
    return input.job.fault_at(
        "image",
        problem("image-not-built",
                image_file_name(input) + (state.is_missing
                                              ? " does not exist"
                                              : " is older than what it is built from")),
        state.is_missing ? "it is built from " + printable(made.recipe_file.native())
                         : state.because(),
        std::move(help));
}

/// The image is signed, and what a submission would build is not: a build refuses to replace it.
std::optional<Fault> signed_fault(const JobInput& input,
                                  const pipeline::RecipeImage& made,
                                  const pipeline::ImageState& state,
                                  const pipeline::ImageBuild& build) {
    if (state.is_missing || build.force || !build.settings.sign_key.empty()) {
        return std::nullopt;
    }
    const auto image = images::Image::open(input.image_file);
    if (!image || !images::is_signed(*image)) {
        return std::nullopt;
    }
    return input.job.fault_at(
        "image",
        problem("signed-image-not-current",
                image_file_name(input) + " is signed, and older than what it is built from"),
        state.because() + "; a submission builds it without a signature, and an unsigned image "
                          "does not replace a signed one",
        "build and sign it again: `" + build_command(input, made) + " --sign-key KEY`");
}

Fault unlocked_note(const JobInput& input, const pipeline::RecipeImage& made) {
    Fault note = input.job.fault_at(
        "image",
        problem("image-unlocked", image_file_name(input) + " was built with --unlocked"),
        "its packages are not those of the Lock",
        "build it again without that: " + build_command(input, made));
    note.is_warning = true;
    return note;
}

/// As `submit` builds it, whatever else is set.
pipeline::ImageBuild recipe_build_of(const JobInput& input,
                                     const pipeline::RecipeImage& made,
                                     const pipeline::ImageBuild& settings) {
    pipeline::ImageBuild build = settings;
    build.source = made.recipe_file;
    build.output = input.image_file;
    build.recipe.variant = variant_of(input);
    build.recipe.read = std::make_shared<const recipes::Recipe>(made.recipe);
    return build;
}

Result<std::vector<Fault>>
provide_built(JobInput& input, const pipeline::RecipeImage& made, const ImageRequest& request) {
    std::vector<Fault> notes;
    CYBELE_TRY(const pipeline::ImageState state,
               pipeline::state_of_image(made, request.build)
                   .map_error(during("comparing the image with its Recipe")));
    if (state.is_current()) {
        if (state.is_unlocked) {
            notes.push_back(unlocked_note(input, made));
        }
        return notes;
    }
    if (!request.builds) {
        return fail(Error(not_current_fault(input,
                                            made,
                                            state,
                                            "leave --no-build out, or run `" +
                                                build_command(input, made) + "`")));
    }
    if (auto fault = signed_fault(input, made, state, request.build)) {
        return fail(Error(std::move(*fault)));
    }
    if (request.on_word) {
        request.on_word((state.is_missing ? "building " : "rebuilding ") + image_file_name(input) +
                        ": " + state.because());
    }
    const std::int64_t begin =
        request.build.provenance.clock ? request.build.provenance.clock() : 0;
    CYBELE_TRY(const pipeline::BuiltImage built,
               pipeline::build_image(recipe_build_of(input, made, request.build)));
    if (request.on_word && request.build.provenance.clock) {
        request.on_word(fmt::format("built {} ({:.1f} MB, {} s)",
                                    image_file_name(input),
                                    static_cast<double>(built.bytes) / 1e6,
                                    request.build.provenance.clock() - begin));
    }
    CYBELE_CHECK(read_image_facts(input));
    return notes;
}

} // namespace

Result<std::vector<Fault>> provide_image(JobInput& input,
                                         const ImageRequest& request,
                                         const Environment& environment,
                                         const Connection& connection) {
    if (!input.job.image || !input.job.image->expanded.empty()) {
        return std::vector<Fault>(); // the script reports where a file of the node is missing
    }
    if (input.made) {
        return provide_built(input, *input.made, request);
    }
    if (input.image.find("://") != std::string::npos) {
        CYBELE_CHECK(judge_remote(input, connection));
        if (request.transport != nullptr) {
            CYBELE_CHECK(fetch_image(
                input,
                {request.transport, request.store, request.clock, request.build.settings.time.now},
                environment));
        }
        return std::vector<Fault>();
    }
    if (auto fault = missing_image(input, connection)) {
        return fail(Error(std::move(*fault)));
    }
    return std::vector<Fault>();
}

std::optional<Fault> missing_image(const JobInput& input, const Connection& connection) {
    std::error_code error;
    const bool is_file = input.job.image && input.job.image->expanded.empty() && !input.made &&
                         input.image.find("://") == std::string::npos;
    const bool is_elsewhere = !connection.is_here() && input.image.starts_with('/');
    if (!is_file || is_elsewhere || fs::exists(input.image_file, error)) {
        return std::nullopt; // of a file of the other machine the script reports that it is missing
    }
    const std::string expanded = launchers::expand_help(input.image);
    return input.job.fault_at(
        "image",
        problem("image-missing", "the image " + printable(input.image) + " is not there"),
        "it would be " + printable(input.image_file.native()),
        expanded.empty()
            ? "build it first: cybelectl build RECIPE -o " + shell_quote(input.image_file.native())
            : expanded);
}

std::optional<Fault> unstartable_image(const JobInput& input) {
    if (input.image.find("://") == std::string::npos || is_remote(input)) {
        return std::nullopt;
    }
    return input.job.fault_at(
        "image",
        problem("oci-image-not-started", "a job cannot start an OCI image"),
        printable(input.image) + " is converted by a build, which a submission does not do",
        "name it as base of a Recipe, and the Recipe here: `image: {recipe: app.yaml}`");
}

Result<std::vector<Fault>> check_image(JobInput& input, const pipeline::ImageBuild& build) {
    std::vector<Fault> notes;
    if (!input.made) {
        return notes;
    }
    const pipeline::RecipeImage& made = *input.made;
    CYBELE_TRY(const pipeline::ImageState state,
               pipeline::state_of_image(made, build)
                   .map_error(during("comparing the image with its Recipe")));
    if (!state.is_current()) {
        input.facts.reset(); // they are those of another image
    }
    if (!state.is_current()) {
        if (auto fault = signed_fault(input, made, state, build)) {
            return fail(Error(std::move(*fault)));
        }
    }
    if (!state.is_missing && !state.is_current()) {
        notes.push_back(
            not_current_fault(input, made, state, "`cybelectl submit` builds it again"));
        notes.back().is_warning = true;
    }
    if (state.is_current() && state.is_unlocked) {
        notes.push_back(unlocked_note(input, made));
    }
    return notes;
}

std::vector<Fault> image_notes(const JobInput& input) {
    if (!input.is_outdated || !input.made) {
        return {};
    }
    Fault note = input.job.fault_at(
        "image",
        problem("image-older-than-recipe", image_file_name(input) + " is older than its Recipe"),
        "what it says of its MPI and libraries is not used",
        "build it again: " + build_command(input, *input.made));
    note.is_warning = true;
    return {note};
}

Result<void>
find_image_digest(JobInput& input, const Environment& environment, const Connection& connection) {
    input.file_digest = input.image_digest.value_or("");
    std::error_code error;
    if (!input.job.image || !input.file_digest.empty() ||
        !fs::is_regular_file(input.image_file, error)) {
        return {};
    }
    if (connection.kind == Connection::Kind::kSsh && !input.made && input.image.starts_with('/')) {
        return {}; // a file of that machine, whatever has its name here
    }
    auto known = registry::KnownFiles::open_own(environment.cache_directory());
    CYBELE_TRY(const UniqueFd fd, open_for_reading(input.image_file));
    CYBELE_TRY(const Digest digest, known.content_of(fd.get(), input.image_file));
    known.save();
    input.file_digest = "sha256:" + hex(digest);
    return {};
}

} // namespace cybele::submission
