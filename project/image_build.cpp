// SPDX-License-Identifier: Apache-2.0
#include "project/image_build.hpp"

#include "builder/builder.hpp"
#include "images/container.hpp"
#include "images/sif.hpp"
#include "images/signature.hpp"
#include "recipes/recipe.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"

#include <algorithm>
#include <vector>

namespace cybele::project {

namespace fs = std::filesystem;

std::string document_kind(const fs::path& file) {
    const auto text = read_file(file, std::size_t{1} << 20U);
    if (!text) {
        return {};
    }
    const auto document = yaml::parse(*text, file.native());
    if (!document) {
        // A damaged document still tells its kind in its first lines, so that the right reader
        // reports its faults.
        const std::size_t at = text->rfind("kind:", 0) == 0 ? 0 : text->find("\nkind:");
        if (at == std::string::npos) {
            return {};
        }
        const std::size_t begin = text->find_first_not_of(" \t", text->find(':', at) + 1);
        return begin == std::string::npos
                   ? std::string()
                   : text->substr(begin, text->find_first_of(" \t\r\n#", begin) - begin);
    }
    const yaml::Node* kind = document->root.find("kind");
    return kind != nullptr ? kind->scalar : std::string();
}

Result<fs::path> find_recipe(const fs::path& folder) {
    std::error_code error;
    std::string name = fs::absolute(folder, error).lexically_normal().filename().native();
    if (name.empty()) {
        name = fs::absolute(folder, error).lexically_normal().parent_path().filename().native();
    }
    const fs::path first = folder / (name + ".yaml");
    if (fs::is_regular_file(first, error) && document_kind(first) == "Recipe") {
        return first;
    }
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const bool is_yaml =
            entry.path().extension() == ".yaml" || entry.path().extension() == ".yml";
        if (is_yaml && entry.is_regular_file(error) && document_kind(entry.path()) == "Recipe") {
            found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    if (found.size() == 1) {
        return found.front();
    }
    if (found.empty()) {
        return fail(ErrorCode::kInput,
                    "no Recipe in " + printable(folder.native()),
                    "there is no *.yaml with `kind: Recipe` in it",
                    "`cybelectl init NAME` makes one");
    }
    return fail(ErrorCode::kInput,
                "several Recipes in " + printable(folder.native()),
                printable(found[0].native()) + " and " + printable(found[1].native()) +
                    " are two of them",
                "name the one to build");
}

namespace {

/// The label that holds a Recipe's name.
constexpr const char* kTitle = "org.opencontainers.image.title";

/// What a source file is built from, after it was read and rendered.
struct Plan {
    definitions::Definition definition;
    std::map<std::string, std::string> labels;
    std::string compression = "zstd";
    fs::path output;
};

Result<Plan> plan_recipe(const ImageBuild& request, const fs::path& source) {
    CYBELE_TRY(std::string text, read_file(source));
    CYBELE_TRY(const recipes::Recipe recipe, recipes::read_recipe(std::move(text), source));
    std::string mirror = request.mirror;
    if (mirror.empty()) {
        if (auto own = builder::machine_mirror(); own) {
            mirror = *own;
        } else if (!recipe.base || !recipe.base->distribution.empty()) {
            return tl::unexpected<Error>(std::move(own).error());
        }
    }
    CYBELE_TRY(recipes::Rendered rendered, recipes::render_definition(recipe, mirror));
    Plan plan;
    plan.definition = std::move(rendered.definition);
    plan.labels = std::move(rendered.labels);
    plan.compression = recipe.compression;
    plan.output = source.parent_path() / (recipe.name + ".sif");
    return plan;
}

Result<Plan> plan_definition(const ImageBuild& request, const fs::path& source) {
    CYBELE_TRY(const std::string text, read_file(source));
    definitions::BuildArguments arguments = request.arguments;
    if (text.find("{{") != std::string::npos && arguments.count("mirror") == 0) {
        // A definition that a Recipe was rendered to leaves the mirror open: the machine's own.
        if (!request.mirror.empty()) {
            arguments["mirror"] = request.mirror;
        } else if (auto own = builder::machine_mirror(); own) {
            arguments["mirror"] = *own;
        }
    }
    Plan plan;
    CYBELE_TRY(plan.definition, definitions::parse_definition(text, source.native(), arguments));
    plan.output = source.parent_path() / (source.stem().native() + ".sif");
    return plan;
}

/// An existing file is replaced without --force only if it is an image made from the same Recipe's
/// name.
bool is_own_image(const fs::path& path, const Plan& plan) {
    const auto image = images::Image::open(path);
    if (!image) {
        return false;
    }
    const auto facts = images::read_facts(*image);
    const auto own = plan.labels.find(kTitle);
    if (!facts || own == plan.labels.end()) {
        return false;
    }
    const auto found = facts->labels.find(kTitle);
    return found != facts->labels.end() && found->second == own->second;
}

Result<void> check_output(const fs::path& output, bool force, const Plan& plan) {
    std::error_code error;
    if (fs::is_directory(output, error)) {
        return fail(ErrorCode::kUsage,
                    "the output " + printable(output.native()) + " is a directory",
                    {},
                    "name a file: -o NAME.sif");
    }
    if (fs::exists(output, error) && !force && !is_own_image(output, plan)) {
        return fail(ErrorCode::kInput,
                    printable(output.native()) + " exists already",
                    "it was not built from this Recipe, so it is not replaced",
                    "choose another output with -o, or give --force");
    }
    const fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, error)) {
        return fail(ErrorCode::kInput,
                    "the folder " + printable(folder.native()) + " does not exist",
                    "the image is written there",
                    "make it with mkdir -p");
    }
    return {};
}

builder::BuildRequest
builder_request(const ImageBuild& request, Plan& plan, const fs::path& source) {
    builder::BuildRequest build;
    build.definition = std::move(plan.definition);
    build.definition_file = source;
    build.directory = source.has_parent_path() ? source.parent_path() : fs::path(".");
    build.output = plan.output;
    build.force = true; // checked above, and the signed copy takes the place
    build.run_tests = request.run_tests;
    build.use_cache = request.use_cache;
    build.mirror = request.mirror;
    build.ca_file = request.ca_file;
    build.now = request.now;
    build.is_deterministic = request.is_deterministic;
    build.pack.compression = request.compression.empty() ? plan.compression : request.compression;
    build.labels = plan.labels;
    build.is_verbose = request.is_verbose;
    build.on_step = request.on_step;
    return build;
}

/// The name under which an image lies until it is signed; removed if the build ends before.
struct Unsigned {
    fs::path path;
    ~Unsigned() {
        std::error_code error;
        fs::remove(path, error);
    }
};

} // namespace

Result<BuiltImage> build_image(const ImageBuild& request, const Environment& environment) {
    std::error_code error;
    fs::path source = request.source;
    if (fs::is_directory(source, error)) {
        CYBELE_TRY(source, find_recipe(source));
    }
    const bool is_recipe = document_kind(source) == "Recipe" || source.extension() == ".yaml";
    CYBELE_TRY(Plan plan,
               is_recipe ? plan_recipe(request, source) : plan_definition(request, source));
    if (!request.output.empty()) {
        plan.output = request.output;
    }
    CYBELE_CHECK(check_output(plan.output, request.force, plan));
    if (!request.sign_key.empty()) {
        CYBELE_CHECK(images::check_signing_key(request.sign_key));
    }
    const fs::path output = plan.output;
    const Unsigned unfinished{output.native() + ".unsigned"};
    if (!request.sign_key.empty()) {
        plan.output = unfinished.path;
    }
    const builder::BuildRequest build = builder_request(request, plan, source);
    CYBELE_TRY(builder::BuildResult result,
               request.builder == "embedded"
                   ? builder::build(build, environment)
                   : builder::build_with(request.builder, build, environment));
    BuiltImage built{output, result.bytes, {}};
    if (!request.sign_key.empty()) {
        CYBELE_CHECK(images::sign_image(unfinished.path, request.sign_key, request.now));
        fs::rename(unfinished.path, output, error);
        if (error) {
            return fail(system_error("cannot put " + printable(output.native()) + " in place",
                                     error.value()));
        }
        built.signed_by = request.sign_key.native();
    }
    built.bytes = fs::file_size(output, error);
    return built;
}

} // namespace cybele::project
