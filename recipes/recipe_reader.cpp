// SPDX-License-Identifier: Apache-2.0
#include "recipes/recipe.hpp"
#include "recipes/recipe_checks.hpp"
#include "recipes/recipe_fields.hpp"
#include "support/digest.hpp"
#include "support/document_substitute.hpp"
#include "support/document_view.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

using document::Reading;
using document::View;
using Values = std::map<std::string, std::string>;

Base read_base(const View& view) {
    return {view.text("distribution"), view.text("image"), view.text("arch"), view.text("key")};
}

RecipeMpi read_mpi(const View& view) {
    RecipeMpi mpi{view.text("family"), view.text("version"), view.text("from"), std::nullopt};
    if (view.has("host")) {
        const View host = view.table("host");
        mpi.host = HostMpi{
            host.text("launcher"), host.text("family"), host.text("version"), host.text("pmi")};
    }
    return mpi;
}

Packages read_packages(const View& view) {
    Packages packages;
    packages.system = view.list("system");
    packages.needs = view.list("needs");
    packages.pip = view.list("pip");
    packages.conda_channels = view.table("conda").list("channels");
    packages.conda_packages = view.table("conda").list("packages");
    packages.spack = view.list("spack");
    for (const View& item : view.tables("source")) {
        packages.source.push_back({item.text("name"),
                                   item.text("url"),
                                   item.text("sha256"),
                                   item.text("git"),
                                   item.text("commit"),
                                   item.text("build"),
                                   item.list("options"),
                                   item.text("script")});
    }
    return packages;
}

std::vector<FileCopy> read_files(const View& view) {
    std::vector<FileCopy> files;
    for (const View& item : view.tables("files")) {
        files.push_back({item.text("from"),
                         item.text("to"),
                         item.text("mode"),
                         item.text("stage"),
                         item.mark()});
    }
    return files;
}

std::vector<std::pair<std::string, EnvironmentValue>> read_environment(const View& view) {
    std::vector<std::pair<std::string, EnvironmentValue>> environment;
    for (const auto& [name, value] : view.entries("environment")) {
        using How = EnvironmentValue::How;
        if (value.is_scalar()) {
            environment.emplace_back(name, EnvironmentValue{How::kSet, value.scalar()});
        } else if (value.has("prepend")) {
            environment.emplace_back(name, EnvironmentValue{How::kPrepend, value.text("prepend")});
        } else {
            environment.emplace_back(name, EnvironmentValue{How::kAppend, value.text("append")});
        }
    }
    return environment;
}

std::vector<Step> read_steps(const View& view) {
    std::vector<Step> steps;
    for (const View& item : view.tables("steps")) {
        steps.push_back({item.text("run"), item.text("shell"), item.text("workdir"), item.mark()});
    }
    return steps;
}

void read_stage_fields(const View& view, StageFields& fields) {
    if (view.has("base")) {
        fields.base = read_base(view.table("base"));
    }
    if (view.has("mpi")) {
        fields.mpi = read_mpi(view.table("mpi"));
    }
    if (view.has("gpu")) {
        fields.gpu_vendor = view.table("gpu").text("vendor");
        fields.gpu_version = view.table("gpu").text("version");
    }
    if (view.has("compilers")) {
        const View compilers = view.table("compilers");
        fields.compiler_family = compilers.text("family");
        fields.compiler_version = compilers.text("version");
        fields.compiler_target = compilers.text("target");
    }
    fields.packages = read_packages(view.table("packages"));
    fields.files = read_files(view);
    fields.environment = read_environment(view);
    fields.steps = read_steps(view);
}

/// `run`: a list of words, or a script.
void read_run(const View& view, std::vector<std::string>& argv, std::string& script) {
    const yaml::Node* node = view.find("run");
    if (node == nullptr) {
        return;
    }
    if (node->kind == yaml::Node::Kind::kScalar) {
        script = node->scalar;
    } else {
        argv = view.list("run");
    }
}

RecipeApp read_app(const View& view) {
    RecipeApp app;
    app.steps = read_steps(view);
    app.files = read_files(view);
    app.environment = read_environment(view);
    read_run(view, app.run_argv, app.run_script);
    app.test = view.text("test");
    app.help = view.text("help");
    app.labels = view.map("labels");
    return app;
}

Values scalars_of(const yaml::Node* node) {
    Values values;
    if (node != nullptr) {
        for (const auto& [key, value] : node->entries) {
            values[key.scalar] = value.scalar;
        }
    }
    return values;
}

/// The values that `@{…}` names: arguments, and of a matrix the first of each list, so that a
/// Recipe with a matrix can be checked before a variant is chosen.
Result<Values> values_of(const yaml::Node& root, const Values& arguments) {
    Values values = scalars_of(root.find("args"));
    std::vector<std::string_view> known;
    for (const auto& [name, value] : values) {
        known.push_back(name);
    }
    for (const auto& [name, value] : arguments) {
        if (!values.contains(name)) {
            const std::string near = nearest(name, known);
            return fail(ErrorCode::kUsage,
                        "the Recipe has no argument '" + printable(name) + "'",
                        "`args` does not name it",
                        near.empty() ? "add it to `args`" : "did you mean `" + near + "`?");
        }
    }
    for (const auto& [name, value] : arguments) {
        values[name] = value;
    }
    if (const yaml::Node* matrix = root.find("matrix")) {
        for (const auto& [key, list] : matrix->entries) {
            if (key.scalar != "exclude" && !list.items.empty()) {
                values.try_emplace(key.scalar, list.items.front().scalar);
            }
        }
    }
    return values;
}

void read_top(const View& root, Recipe& recipe) {
    recipe.name = root.text("name");
    recipe.version = root.text("version");
    read_stage_fields(root, recipe);
    read_run(root, recipe.run_argv, recipe.run_script);
    recipe.test = root.text("test");
    recipe.help = root.text("help");
    recipe.labels = root.map("labels");
    for (const View& view : root.tables("stages")) {
        RecipeStage stage;
        stage.name = view.text("name");
        read_stage_fields(view, stage);
        recipe.stages.push_back(std::move(stage));
    }
    for (const auto& [name, view] : root.entries("apps")) {
        recipe.apps[name] = read_app(view);
    }
    if (root.has("image")) {
        recipe.compression = root.table("image").text("compression");
        recipe.sbom = root.table("image").text("sbom");
    }
}

} // namespace

Fault Recipe::fault_at(std::string_view field,
                       std::string message,
                       std::string because,
                       std::string remedy) const {
    return document::fault_at(source,
                              document::mark_of(marks, field),
                              std::move(message),
                              std::move(because),
                              std::move(remedy));
}

Result<Recipe> read_recipe(std::string text, const std::filesystem::path& file) {
    return read_recipe(std::move(text), file, {});
}

Result<Recipe> read_recipe(std::string text,
                           const std::filesystem::path& file,
                           const std::map<std::string, std::string>& arguments) {
    Recipe recipe;
    const Digest digest = sha256(text);
    CYBELE_TRY(yaml::Document document, yaml::parse(std::move(text), file.string()));
    CYBELE_TRY(const Values values, values_of(document.root, arguments));
    Faults faults;
    document::substitute(recipe_kind(), document, values, faults);
    CYBELE_TRY(Reading reading, Reading::open(recipe_kind(), std::move(document)));
    for (const Fault& fault : faults.all()) {
        reading.faults().add(fault);
    }
    const View root = reading.root();
    read_top(root, recipe);
    recipe.args = scalars_of(reading.tree().find("args"));
    for (const auto& [name, value] : arguments) {
        recipe.args[name] = value;
    }
    check_recipe(reading, recipe);
    if (reading.faults().has_errors()) {
        return fail(reading.faults().take());
    }
    recipe.digest = hex(digest);
    recipe.folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    recipe.source = reading.source();
    recipe.marks = reading.marks();
    recipe.not_yet = reading.not_yet();
    return recipe;
}

} // namespace cybele::recipes
