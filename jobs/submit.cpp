// SPDX-License-Identifier: Apache-2.0
#include "jobs/submit.hpp"

#include "jobs/local.hpp"
#include "recipes/recipe.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

namespace cybele::jobs {

namespace fs = std::filesystem;

namespace {

Result<bool> is_current(const JobInput& input) {
    if (!input.facts) {
        return false;
    }
    CYBELE_TRY(std::string text, read_file(input.recipe_file));
    CYBELE_TRY(const recipes::Recipe recipe,
               recipes::read_recipe(std::move(text), input.recipe_file));
    const auto label = input.facts->labels.find("cybelectl.recipe");
    return label != input.facts->labels.end() &&
           label->second.find(recipe.digest) != std::string::npos;
}

/// Makes sure that the image is there; builds it where the Job names a Recipe.
Result<void>
provide_image(JobInput& input, const SubmitRequest& request, const Environment& environment) {
    if (!input.job.image) {
        return {};
    }
    if (!input.recipe_file.empty()) {
        CYBELE_TRY(const bool current, is_current(input));
        if (!current) {
            project::ImageBuild build = request.build;
            build.source = input.recipe_file;
            build.output = input.image_file;
            CYBELE_CHECK(project::build_image(build, environment));
        }
        return read_image_facts(input);
    }
    std::error_code error;
    if (!fs::exists(input.image_file, error)) {
        return fail(
            Error(input.job.fault_at("image",
                                     "the image " + printable(input.image) + " is not there",
                                     "it would be " + printable(input.image_file.native()),
                                     "build it first: cybelectl build RECIPE -o " +
                                         shell_quote(input.image_file.native()))));
    }
    return {};
}

} // namespace

Result<Submitted> submit(const SubmitRequest& request, const Environment& environment) {
    CYBELE_TRY(JobInput input, read_job_input(request.job));
    if (input.dialect != "local" && !request.dry_run) {
        return fail(ErrorCode::kInput,
                    "not yet: submitting to '" + input.dialect + "'",
                    "this version submits to the embedded local scheduler",
                    "write the script with `cybelectl job render` and give it to " +
                        std::string(input.dialect == "slurm" ? "sbatch" : "qsub"));
    }
    if (!request.dry_run) {
        CYBELE_CHECK(provide_image(input, request, environment));
    }
    CYBELE_TRY(const schedulers::RenderedScript script,
               schedulers::render_script(input.render_input()));
    if (request.on_notes) {
        request.on_notes(script.notes);
    }
    Submitted submitted;
    submitted.script = script.text;
    if (request.dry_run) {
        return submitted;
    }
    CYBELE_TRY(const LocalJob local, prepare_local(input.job, script.text));
    submitted.id = local.id;
    submitted.standard_output = local.standard_output;
    submitted.standard_error = local.standard_error;
    if (!request.wait) {
        CYBELE_CHECK(start_local(local, environment, request.program_folder));
    }
    if (request.on_id) {
        request.on_id(local.id);
    }
    if (request.wait) {
        CYBELE_TRY(submitted.end, run_local(local, environment, request.program_folder));
    }
    return submitted;
}

} // namespace cybele::jobs
