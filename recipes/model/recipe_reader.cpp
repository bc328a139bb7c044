// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/language.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/model/recipe_checks.hpp"
#include "recipes/model/recipe_fields.hpp"
#include "recipes/model/tree.hpp"
#include "support/digest.hpp"
#include "support/document_substitute.hpp"
#include "support/document_view.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/yaml_print.hpp"

#include <set>

#include <fmt/format.h>

namespace cybele::recipes {
namespace {

using document::Reading;
using document::View;

Base read_base(const View& view) {
    return {view.text("distribution"), view.text("image"), view.text("arch"), view.text("key")};
}

RecipeMpi read_mpi(const View& view) {
    RecipeMpi mpi{view.text("family"), view.text("version"), view.text("from"), std::nullopt};
    if (view.has("host")) {
        const View host = view.table("host");
        mpi.host = HostMpi{host.text("launcher"),
                           host.text("family"),
                           host.text("version"),
                           host.text("pmi"),
                           host.scalar()};
    }
    return mpi;
}

/// A key that cannot be read is reported by who needs it (recipes/packages/repositories.cpp).
void read_repositories(const View& view,
                       const std::filesystem::path& folder,
                       std::vector<Repository>& repositories) {
    constexpr std::size_t kMostKeyBytes = std::size_t{1} << 20U;
    for (const View& item : view.tables("repositories")) {
        Repository one{item.text("url"),
                       item.list("suites"),
                       item.list("components"),
                       item.text("key"),
                       item.text("fingerprint"),
                       {}};
        one.key_text = read_file(folder / one.key, kMostKeyBytes).value_or("");
        repositories.push_back(std::move(one));
    }
}

Packages read_packages(const View& view, const std::filesystem::path& folder) {
    Packages packages;
    packages.system = view.list("system");
    packages.recommends = view.flag("recommends");
    packages.manager = view.text("manager");
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
    read_repositories(view, folder, packages.repositories);
    return packages;
}

std::vector<FileCopy> read_files(const View& view) {
    std::vector<FileCopy> files;
    for (const View& item : view.tables("files")) {
        files.push_back({item.text("from"),
                         item.text("to"),
                         item.text("mode"),
                         item.text("stage"),
                         item.mark(),
                         item.list("allow")});
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
        steps.push_back({item.text("run"),
                         item.text("shell"),
                         item.text("workdir"),
                         item.flag("environment"),
                         item.mark()});
    }
    return steps;
}

void read_stage_fields(const View& view, const std::filesystem::path& folder, StageFields& fields) {
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
    fields.packages = read_packages(view.table("packages"), folder);
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

void read_top(const View& root, Recipe& recipe) {
    recipe.name = root.text("name");
    recipe.version = root.text("version");
    read_stage_fields(root, recipe.folder, recipe);
    read_run(root, recipe.run_argv, recipe.run_script);
    recipe.test = root.text("test");
    recipe.help = root.text("help");
    recipe.labels = root.map("labels");
    for (const View& view : root.tables("stages")) {
        RecipeStage stage;
        stage.name = view.text("name");
        read_stage_fields(view, recipe.folder, stage);
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
                       Problem problem,
                       std::string because,
                       std::string remedy) const {
    return document::fault_at(source,
                              document::mark_of(marks, field),
                              std::move(problem),
                              std::move(because),
                              std::move(remedy));
}

namespace {

yaml::Node scalar_node(std::string text) {
    yaml::Node node;
    node.kind = yaml::Node::Kind::kScalar;
    node.scalar = std::move(text);
    return node;
}

/// The Recipe with nothing left to choose: it reads back to the same.
std::string resolved_text(yaml::Node tree, const Recipe& recipe) {
    for (const auto* key : {"matrix", "when", "args"}) {
        remove_key(tree, key);
    }
    for (auto& [key, value] : tree.entries) {
        if (key.scalar == "name") {
            value.scalar = recipe.name;
        }
    }
    document::escape(recipe_kind(), tree);
    if (!recipe.args.empty()) {
        // Scripts see them as variables.
        yaml::Node values;
        values.kind = yaml::Node::Kind::kMapping;
        for (const auto& [name, value] : recipe.args) {
            values.entries.emplace_back(scalar_node(name), scalar_node(document::escaped(value)));
        }
        tree.entries.emplace_back(scalar_node("args"), std::move(values));
    }
    return yaml::to_text(tree);
}

/// The document of one variant, from a tree with its includes.
Result<Recipe> read_tree(yaml::Document document,
                         const std::filesystem::path& file,
                         const Values& values,
                         const Variant& variant) {
    Recipe recipe;
    Faults faults;
    document::substitute(recipe_kind(), document, values, faults);
    apply_conditions(document, values, faults);
    CYBELE_TRY(Reading reading, Reading::open(recipe_kind(), std::move(document)));
    for (const Fault& fault : faults.all()) {
        reading.faults().add(fault);
    }
    const View root = reading.root();
    recipe.folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    read_top(root, recipe);
    recipe.args = values;
    if (!variant.values.empty()) {
        recipe.variant = variant.name;
        recipe.name = variant.name;
    }
    check_recipe(reading, recipe);
    if (reading.faults().has_errors()) {
        return fail(reading.faults().take());
    }
    recipe.text = resolved_text(reading.tree(), recipe);
    recipe.source = reading.source();
    recipe.marks = reading.marks();
    recipe.not_yet = reading.not_yet();
    return recipe;
}

/// What all variants share.
struct Merged {
    yaml::Document document;
    Values arguments;
    std::vector<Variant> variants;
    std::string digest; ///< of the tree and the arguments
    std::vector<std::pair<std::string, std::string>> fields;
    std::string package_fields;
    std::vector<std::pair<std::string, std::string>> package_parts;
};

Result<Merged>
read_shared(std::string text, const std::filesystem::path& file, const Values& arguments) {
    CYBELE_TRY(yaml::Document document, read_merged(std::move(text), file));
    CYBELE_TRY(Values values, argument_values(document, arguments));
    Merged merged{std::move(document), std::move(values), {}, {}, {}, {}, {}};
    merged.fields = fields_of(merged.document.root);
    merged.package_fields = package_fields_of(merged.document.root, merged.arguments);
    merged.package_parts = package_parts_of(merged.document.root, merged.arguments);
    std::string identity;
    for (const auto& [name, value] : merged.fields) {
        identity += fmt::format("{}\"{}\":{}", identity.empty() ? "{" : ",", name, value);
    }
    identity += "}";
    for (const auto& [name, value] : merged.arguments) {
        identity += fmt::format("\n{}={}", name, value);
    }
    merged.digest = hex(sha256(identity));
    Faults faults;
    merged.variants = variants_of(merged.document, faults);
    if (faults.has_errors()) {
        // the tree's own faults are told with those of the matrix
        Values all = merged.arguments;
        all.insert(merged.variants.front().values.begin(), merged.variants.front().values.end());
        if (auto recipe = read_tree(merged.document, file, all, merged.variants.front()); !recipe) {
            faults.add(recipe.error());
        }
        return fail(faults.take());
    }
    return merged;
}

Result<Recipe>
read_one(const Merged& merged, const std::filesystem::path& file, const Variant& variant) {
    Values values = merged.arguments;
    values.insert(variant.values.begin(), variant.values.end());
    CYBELE_TRY(Recipe recipe, read_tree(merged.document, file, values, variant));
    recipe.digest = merged.digest;
    recipe.fields = merged.fields;
    recipe.package_fields = merged.package_fields;
    recipe.package_parts = merged.package_parts;
    for (const auto& other : merged.variants) {
        if (!other.values.empty()) {
            recipe.variants.push_back(other.name);
        }
    }
    return recipe;
}

} // namespace

Result<Recipe> read_recipe(std::string text, const std::filesystem::path& file) {
    return read_variant(std::move(text), file, {}, {});
}

Result<Recipe> read_recipe(std::string text,
                           const std::filesystem::path& file,
                           const std::map<std::string, std::string>& arguments) {
    return read_variant(std::move(text), file, arguments, {});
}

Result<Recipe> read_variant(std::string text,
                            const std::filesystem::path& file,
                            const std::map<std::string, std::string>& arguments,
                            const std::string& variant) {
    CYBELE_TRY(const Merged merged, read_shared(std::move(text), file, arguments));
    std::vector<std::string_view> names;
    std::string list;
    for (const auto& known : merged.variants) {
        if (variant.empty() || known.name == variant) {
            return read_one(merged, file, known);
        }
        names.push_back(known.name);
        list += (list.empty() ? "" : ", ") + known.name;
    }
    const std::string near = nearest(variant, names);
    return fail(
        ErrorCode::kUsage,
        problem("variant-unknown", "the Recipe has no variant '" + printable(variant) + "'"),
        "it has " + list,
        near.empty() ? "write --variant " + std::string(names.front()) + ", or another of them"
                     : "did you mean `" + near + "`?");
}

Result<std::vector<Recipe>> read_variants(std::string text,
                                          const std::filesystem::path& file,
                                          const std::map<std::string, std::string>& arguments) {
    CYBELE_TRY(const Merged merged, read_shared(std::move(text), file, arguments));
    std::vector<Recipe> recipes;
    Faults faults;
    std::set<std::string> told;
    for (const auto& variant : merged.variants) {
        auto recipe = read_one(merged, file, variant);
        if (recipe) {
            recipes.push_back(std::move(*recipe));
            continue;
        }
        for (const Fault& fault : recipe.error().faults()) {
            const std::string key =
                fault.message + (fault.where
                                     ? std::to_string(fault.where->line) + ":" +
                                           std::to_string(fault.where->column) + fault.where->file
                                     : std::string{});
            if (told.insert(key).second) {
                faults.add(fault);
            }
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return recipes;
}

} // namespace cybele::recipes
