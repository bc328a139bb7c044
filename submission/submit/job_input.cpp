// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/job_input.hpp"

#include "images/sif/sif.hpp"
#include "images/sif/start.hpp"
#include "registry/store/store.hpp"
#include "schedulers/reading/default_outputs.hpp"
#include "submission/submit/given_options.hpp"
#include "submission/submit/own_script.hpp"
#include "support/file.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"

#include <fstream>
#include <string_view>
#include <utility>

namespace cybele::submission {

namespace fs = std::filesystem;

schedulers::RenderInput JobInput::render_input() const {
    schedulers::RenderInput input;
    input.job = &job;
    input.options = options;
    input.site = site ? &*site : nullptr;
    input.dialect = dialect;
    input.image = image;
    input.image_digest = image_digest;
    input.facts = facts ? &*facts : nullptr;
    return input;
}

namespace {

/// The first document of a kind in a folder, by name: "a Job"; empty where there is none.
fs::path first_document(const fs::path& folder, std::string_view kind) {
    std::error_code error;
    fs::path first;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() != ".yaml" || !entry.is_regular_file(error)) {
            continue;
        }
        const auto text = read_file(entry.path());
        const auto known = text ? recognize_file(*text) : std::nullopt;
        if (known && known->what == kind && (first.empty() || entry.path() < first)) {
            first = entry.path();
        }
    }
    return first;
}

std::string help_without_job(const fs::path& folder) {
    if (const fs::path job = first_document(folder, "a Job"); !job.empty()) {
        return "name the Job's file: " + shell_quote(job.lexically_normal().native());
    }
    if (const fs::path recipe = first_document(folder, "a Recipe"); !recipe.empty()) {
        return "write a Job for the Recipe: `cybelectl job new --recipe " +
               shell_quote(recipe.lexically_normal().native()) + " -o " +
               shell_quote((folder / "job.yaml").lexically_normal().native()) + "`";
    }
    return "name the Job's file, or make a project: `cybelectl init NAME`, of existing source "
           "`cybelectl init --from DIR`";
}

Result<fs::path> find_job(const fs::path& file) {
    std::error_code error;
    const fs::path job = file / "job.yaml";
    if (!fs::is_directory(file, error) || fs::exists(job, error)) {
        return fs::is_directory(file, error) ? job : file;
    }
    if (error) {
        return fail(
            system_error("cannot open the folder " + printable(file.native()), error.value()));
    }
    return fail(ErrorCode::kInput,
                problem("folder-without-job", "no job.yaml in " + printable(file.native())),
                {},
                help_without_job(file));
}

/// The text of a Job; of an image its beginning, by which it is recognized, whatever its size.
Result<std::string> job_text(const fs::path& file) {
    if (file.extension() != ".sif") {
        return read_file(file);
    }
    std::ifstream stream(file, std::ios::binary);
    std::string start(images::kStartSize, '\0');
    stream.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<std::size_t>(stream.gcount()));
    if (start.empty()) {
        return read_file(file); // and says why
    }
    return start;
}

/// An image of the store is the file of its digest, which the job looks at again.
Result<void>
resolve_stored(JobInput& input, const std::string& reference, const registry::StoreFolder& root) {
    const auto find = [&]() -> Result<registry::StoredImage> {
        CYBELE_TRY(const registry::StoreName name, registry::read_store_reference(reference));
        CYBELE_TRY(const registry::Store store,
                   registry::Store::open_for_reading(root).map_error(
                       during("opening the local store of images")));
        return store.find(name);
    };
    const auto image = find();
    if (!image) {
        const Fault& fault = image.error().faults().front();
        return fail(input.job.fault_at(
            "image", problem(fault.id, fault.message), fault.because, fault.help));
    }
    input.image = image->path.native();
    input.image_file = image->path;
    input.image_digest = image->record.digest;
    input.is_stored = true;
    return {};
}

/// Where the image of a Job lies and how the script names it. Relative paths start at the Job's
/// folder, which is where the job is submitted.
Result<void> resolve_image(JobInput& input, const registry::StoreFolder& store) {
    const launchers::Job& job = input.job;
    if (!job.image) {
        return {};
    }
    if (!job.image->expanded.empty()) {
        return {}; // only the node knows which file it is
    }
    if (!job.image->recipe.empty()) {
        const fs::path recipe = job.place(job.image->recipe);
        std::error_code error;
        if (!fs::exists(recipe, error)) {
            return fail(job.fault_at(
                "image.recipe",
                problem("job-recipe-missing", "there is no Recipe " + printable(recipe.native())),
                "the path is relative to the Job's folder",
                "correct the path, or write the Recipe: `cybelectl recipe new`"));
        }
        CYBELE_TRY(input.made,
                   pipeline::image_of_job(job).map_error(during("finding the image of the job")));
        input.image = input.made->name;
        input.image_file = input.made->file;
        return {};
    }
    if (registry::is_store_reference(job.image->reference)) {
        return resolve_stored(input, job.image->reference, store);
    }
    input.image = job.image->reference;
    const auto at = input.image.rfind("@sha256:");
    // Of an image in a registry it is the manifest's digest, not the file's.
    if (at != std::string::npos && input.image.find("://") == std::string::npos) {
        input.image_digest = input.image.substr(at + 1);
        input.image.resize(at);
    }
    input.image_file = job.place(input.image);
    return {};
}

/// The Job and its Site; the faults of both at the same time.
Result<void>
read_documents(const JobRequest& request, std::string text, const fs::path& file, JobInput& input) {
    Faults faults;
    auto job = launchers::read_job(std::move(text), file);
    if (job) {
        input.job = std::move(*job);
    } else {
        faults.add(job.error());
    }
    if (!request.site.empty()) {
        auto site =
            read_named_site(request.site, request.site_from, request.site_place, request.home);
        if (site) {
            input.site = std::move(*site);
        } else {
            faults.add(site.error());
        }
    }
    return faults.has_errors() ? Result<void>(fail(faults.take())) : Result<void>();
}

Result<void> refuse_script(const std::string& text, const fs::path& file) {
    // Apptainer's images begin like a script.
    if (!is_own_script(text) ||
        images::image_start(text).kind != images::ImageStart::Kind::kOther) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("script-is-not-job",
                        "'" + printable(file.native()) + "' is a batch script, not a Job"),
                "its first line or its directives are those of a script",
                "submit it unchanged: `cybelectl submit --script " + printable(file.native()) +
                    "`; `cybelectl job convert` makes a Job of it");
}

} // namespace

Result<void> read_image_facts(JobInput& input) {
    std::error_code error;
    input.facts.reset();
    input.is_outdated = false;
    if (input.image.empty() || input.image.find("://") != std::string::npos ||
        !fs::exists(input.image_file, error) || fs::is_directory(input.image_file, error)) {
        return {};
    }
    CYBELE_TRY(const images::Image image, images::Image::open(input.image_file));
    CYBELE_TRY(input.facts, images::read_facts(image));
    if (!input.made) {
        return {};
    }
    const auto label = input.facts->labels.find("cybelectl.recipe");
    input.is_outdated = label == input.facts->labels.end() || label->second != input.made->label();
    if (input.is_outdated) {
        input.facts.reset();
    }
    return {};
}

Result<JobInput> read_job_input(const JobRequest& request) {
    CYBELE_TRY(const fs::path file,
               find_job(request.file).map_error(during("looking for the Job")));
    JobInput input;
    CYBELE_TRY(std::string text, job_text(file).map_error(during("reading the Job")));
    CYBELE_CHECK(refuse_script(text, file).map_error(during("reading the Job")));
    CYBELE_CHECK(read_documents(request, std::move(text), file, input));
    input.dialect = request.scheduler;
    if (input.dialect.empty()) {
        input.dialect = input.site ? input.site->dialect : "local";
    }
    input.job.home = request.home;
    Faults faults;
    Overrides overrides = request.overrides;
    if (overrides.array == input.job.array) {
        overrides.array.reset(); // `job resubmit` of all elements: the script is the same, too
    }
    apply_overrides(overrides, input.job, faults);
    input.options = given_options(overrides);
    if (const auto image = resolve_image(input, request.store); !image) {
        faults.add(image.error());
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    schedulers::set_default_outputs(input.dialect, input.job);
    CYBELE_CHECK(read_image_facts(input).map_error(during("reading what the image of the job is")));
    return input;
}

} // namespace cybele::submission
