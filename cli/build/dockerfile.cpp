// SPDX-License-Identifier: Apache-2.0
// `build Dockerfile`: imports it as a Recipe, which is built in its folder.
#include "cli/build/options.hpp"
#include "cli/common/counts.hpp"
#include "cli/common/session.hpp"
#include "pipeline/document_kind.hpp"
#include "pipeline/recipe_file.hpp"
#include "recipes/import/import.hpp"
#include "support/file.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfDockerfile = std::size_t{1} << 20U;

recipes::PathKind kind_of_path(const fs::path& path) {
    std::error_code error;
    const fs::file_type type = fs::status(path, error).type();
    return type == fs::file_type::regular     ? recipes::PathKind::kFile
           : type == fs::file_type::directory ? recipes::PathKind::kDirectory
                                              : recipes::PathKind::kUnknown;
}

/// The text of a source that is a Dockerfile; empty for any other source.
std::string dockerfile_text(const fs::path& source) {
    std::error_code error;
    if (!fs::is_regular_file(source, error) ||
        pipeline::source_kind(source) != pipeline::SourceKind::kDefinition) {
        return {};
    }
    const auto text = read_file(source, kMostOfDockerfile);
    const auto kind = text ? recipes::detect_import_kind(source, *text)
                           : Result<recipes::ImportKind>(recipes::ImportKind::kDefinition);
    return kind && *kind == recipes::ImportKind::kDockerfile ? *text : std::string();
}

std::string account_of(const recipes::Imported& imported) {
    std::size_t converted = 0;
    std::size_t left_out = 0;
    for (const auto& line : imported.lines) {
        if (!line.is_blank) {
            ++(line.is_carried ? converted : left_out);
        }
    }
    return counted(converted, "line") + fmt::format(" converted, {} left out", left_out);
}

/// A step that fails is shown at its line of the Dockerfile.
void place_steps(std::vector<recipes::Step>& steps, const std::vector<std::size_t>& lines) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
        steps[i].mark = {i < lines.size() ? lines[i] : 0, 1};
    }
}

} // namespace

Result<void> take_dockerfile(Session& session, BuildOptions& options) {
    const fs::path source = options.source;
    recipes::ImportRequest request;
    request.text = session.is_apptainer() ? std::string() : dockerfile_text(source);
    if (request.text.empty()) {
        return {};
    }
    std::error_code error;
    request.file = source;
    request.kind = recipes::ImportKind::kDockerfile;
    request.folder_name =
        suggest_name(fs::weakly_canonical(source, error).parent_path().filename().native());
    request.build_arguments = std::move(options.build.definition.arguments);
    options.build.definition.arguments.clear();
    request.read = [](const fs::path& path) { return read_file(path, kMostOfDockerfile); };
    request.look = kind_of_path;
    CYBELE_TRY(const recipes::Imported imported, recipes::import_recipe(request));
    if (!session.is_quiet) {
        session.note(imported.notes);
    }
    if (!session.is_quiet && !session.is_json()) {
        Session::print(printable(source.native()) + ": " + account_of(imported) + "\n");
    }
    CYBELE_TRY(recipes::Recipe recipe,
               pipeline::read_variant(imported.text,
                                      source.parent_path() / (imported.name + ".yaml"),
                                      options.build.recipe.arguments,
                                      {}));
    for (std::size_t i = 0; i < recipe.stages.size() && i < imported.step_lines.size(); ++i) {
        place_steps(recipe.stages[i].steps, imported.step_lines[i]);
    }
    place_steps(recipe.steps, imported.step_lines.back());
    options.build.recipe.read = std::make_shared<const recipes::Recipe>(std::move(recipe));
    options.build.recipe.ignores_lock = true; // a Dockerfile has none
    return {};
}

} // namespace cybele::cli
