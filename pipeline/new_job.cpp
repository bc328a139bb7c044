// SPDX-License-Identifier: Apache-2.0
#include "pipeline/new_job.hpp"

#include "images/inspection/facts.hpp"
#include "images/sif/image.hpp"
#include "pipeline/document_kind.hpp"
#include "pipeline/job_text.hpp"
#include "recipes/model/recipe.hpp"
#include "support/file.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

/// The path as it is written in a Job of that folder.
std::string path_from(const fs::path& folder, const fs::path& file) {
    std::error_code error;
    const fs::path own = fs::absolute(folder.empty() ? "." : folder, error).lexically_normal();
    return file.is_absolute()
               ? file.native()
               : fs::absolute(file, error).lexically_normal().lexically_proximate(own).native();
}

std::string name_from(std::string_view text) {
    const std::string name = suggest_name(text);
    return name.empty() ? "program" : name;
}

/// `store:a:1` and `docker://x/y:1`: what stands before the tag, after the last slash.
std::string name_of_reference(std::string_view reference) {
    const std::string_view path = reference.substr(0, reference.find('@'));
    const bool is_store = path.starts_with("store:");
    std::string_view last = is_store ? path.substr(6) : path.substr(path.rfind('/') + 1);
    return name_from(last.substr(0, last.find(':')));
}

Result<NewJob> for_image(const NewJobRequest& request) {
    NewJob job;
    std::string help;
    std::error_code error;
    if (!fs::exists(request.image, error) && request.image.find(':') != std::string::npos) {
        if (const auto fault = image_reference_fault(request.image, help); !fault.empty()) {
            return fail(
                ErrorCode::kUsage,
                problem("image-not-named", "'" + printable(request.image) + "' names no image"),
                fault,
                help);
        }
        job.name = name_of_reference(request.image);
        job.image = request.image;
        job.facts = {"The image is not a file here, so nothing is known of it: set `launch`."};
        return job;
    }
    CYBELE_TRY(const images::Image image, images::Image::open(request.image));
    CYBELE_TRY(const images::ImageFacts facts, images::read_facts(image));
    job.name = name_from(fs::path(request.image).stem().native());
    job.image = path_from(request.folder, request.image);
    const bool has_mpi = !facts.mpi.empty() && facts.mpi != "none";
    job.launch = has_mpi ? "mpi" : "serial";
    job.facts.push_back(has_mpi ? "The image has " + printable(facts.mpi) + ", by its labels."
                                : "The image's labels name no MPI: `launch: serial`.");
    if (const auto gpu = facts.labels.find("cybelectl.gpu"); gpu != facts.labels.end()) {
        job.facts.push_back("It is made for GPUs (" + printable(gpu->second) +
                            "): add `gpus-per-node: 1` to resources.");
    }
    return job;
}

Result<NewJob> for_recipe(const NewJobRequest& request) {
    CYBELE_TRY(const fs::path file, find_source(request.recipe));
    CYBELE_TRY(std::string text, read_file(file).map_error(during("reading the Recipe")));
    CYBELE_TRY(const recipes::Recipe recipe, recipes::read_recipe(std::move(text), file));
    NewJob job;
    job.name = recipe.variants.empty() ? recipe.name : name_from(recipe.name);
    job.recipe = path_from(request.folder, file);
    if (!recipe.variants.empty()) {
        job.variant = recipe.variants.front();
        job.facts.push_back("The Recipe has " + std::to_string(recipe.variants.size()) +
                            " variants; this Job runs the first.");
    }
    const auto is_openmp = [](const std::string& package) { return package == "libgomp1"; };
    const auto& system = recipe.packages.system;
    if (!recipe.mpi.family.empty()) {
        job.launch = "mpi";
        job.facts.push_back("The Recipe has `mpi: " + printable(recipe.mpi.family) + "`.");
    } else if (std::ranges::any_of(system, is_openmp)) {
        job.launch = "openmp";
        job.facts.emplace_back("The Recipe installs libgomp1, the library of OpenMP.");
    }
    return job;
}

} // namespace

Result<std::string> job_for(const NewJobRequest& request) {
    CYBELE_TRY(NewJob job, request.image.empty() ? for_recipe(request) : for_image(request));
    job.is_of_root = request.is_of_root;
    return new_job_text(job);
}

} // namespace cybele::pipeline
