// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/job/explain.hpp"
#include "pipeline/new_job.hpp"
#include "pipeline/schemas.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <memory>

#include <unistd.h>

namespace cybele::cli {
namespace {

struct NewJobOptions {
    std::string what; ///< an image or a Recipe
    std::string image;
    std::string recipe;
    std::string output = "job.yaml";
};

bool is_recipe(const std::string& word) {
    std::error_code error;
    const std::string extension = std::filesystem::path(word).extension();
    return extension == ".yaml" || extension == ".yml" ||
           std::filesystem::is_directory(word, error);
}

Result<int> new_job(const Session& session, const NewJobOptions& options) {
    namespace fs = std::filesystem;
    const bool is_file = options.output != "-";
    std::error_code error;
    if (is_file && fs::symlink_status(options.output, error).type() != fs::file_type::not_found) {
        return fail(ErrorCode::kInput,
                    problem("job-file-exists", printable(options.output) + " exists already"),
                    "`job new` replaces no file",
                    "choose another file with -o, or print the Job with -o -");
    }
    pipeline::NewJobRequest request;
    request.image = options.image;
    request.is_of_root = ::geteuid() == 0;
    request.recipe = options.recipe.empty() ? "." : options.recipe;
    if (is_recipe(options.what)) {
        request.recipe = options.what;
    } else if (!options.what.empty()) {
        request.image = options.what;
    }
    request.folder = is_file ? fs::path(options.output).parent_path() : fs::path();
    CYBELE_TRY(const std::string text, pipeline::job_for(request));
    if (!request.folder.empty()) {
        CYBELE_CHECK(make_directories(request.folder));
    }
    CYBELE_CHECK(write_file(options.output, text));
    if (is_file) {
        CYBELE_CHECK(pipeline::write_schemas(request.folder, {"Job"}));
        if (!session.is_quiet) {
            Session::print(printable(options.output) + "\nnext: cybelectl job check " +
                           shell_quote(options.output) + " && cybelectl submit " +
                           shell_quote(options.output) + " --follow\n");
        }
    }
    return 0;
}

} // namespace

void install_job_new(CLI::App& job, Session& session) {
    const auto options = std::make_shared<NewJobOptions>();
    CLI::App* verb = add_verb(job,
                              "new",
                              "Write a commented Job for an existing image or Recipe.",
                              {"cybelectl job new app.sif",
                               "cybelectl job new demo/demo.yaml -o demo/job.yaml",
                               "cybelectl job new --image oras://registry.example/app:1"});
    CLI::Option* const what =
        verb->add_option("for", options->what, "an image, a Recipe, or a folder with one")
            ->type_name("IMAGE|RECIPE");
    CLI::Option* const image =
        verb->add_option("--image",
                         options->image,
                         "image file or reference, whose labels decide how it is launched")
            ->type_name("IMAGE")
            ->excludes(what);
    verb->add_option(
            "--recipe", options->recipe, "Recipe, or a folder with one (default: this folder)")
        ->type_name("RECIPE")
        ->excludes(image)
        ->excludes(what);
    verb->add_option("-o,--output", options->output, "output file of the Job; - is standard output")
        ->capture_default_str()
        ->type_name("FILE");
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return new_job(session, *options).map_error(during("writing a new Job"));
        };
    });
}

} // namespace cybele::cli
