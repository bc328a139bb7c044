// SPDX-License-Identifier: Apache-2.0
#include "project/image_build.hpp"

#include "builder/builder.hpp"
#include "images/container.hpp"
#include "images/sif/sif.hpp"
#include "images/signatures/sign.hpp"
#include "project/provenance.hpp"
#include "project/recipe_file.hpp"
#include "project/recipe_lock.hpp"
#include "project/reproducible.hpp"
#include "recipes/packages/base.hpp"
#include "recipes/recipe.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"

#include <algorithm>
#include <optional>
#include <set>
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
    std::string sbom; ///< and the name and version that it gives the image
    std::string name;
    std::string version;
    std::string recipe; ///< its SHA-256; empty: there is none
    fs::path output;
    std::map<std::string, std::string> digests; ///< of bases, by their `From:`
    std::map<std::string, std::set<fs::path>> keys;
};

/// One image is built at a time: of a Recipe with a matrix the variant must be named.
Result<void> check_variant(const ImageBuild& request, const recipes::Recipe& recipe) {
    if (!request.variant.empty() || recipe.variants.empty()) {
        return {};
    }
    std::string list;
    for (const auto& name : recipe.variants) {
        list += (list.empty() ? "" : ", ") + name;
    }
    return fail(ErrorCode::kUsage,
                "the Recipe has " + std::to_string(recipe.variants.size()) + " variants",
                "they are " + list,
                "choose one with --variant, or build all with --all");
}

/// What the Recipe says that the embedded builder cannot do yet, with its place in the Recipe.
Result<void> check_buildable(const recipes::Recipe& recipe) {
    Faults faults;
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        const recipes::StageContext context = recipes::stage_context(recipe, i);
        const bool is_told = !context.is_last && !context.fields->base;
        if (!is_told && !builder::has_agent(context.base.agent)) {
            faults.add(
                recipe.fault_at(context.prefix + "base",
                                "not yet: building from '" + context.base.from + "'",
                                "the embedded builder has no agent '" + context.base.agent + "'",
                                "build with --builder apptainer, or begin with a Debian "
                                "release or an image that it knows"));
        }
    }
    if (!recipe.apps.empty()) {
        faults.add(recipe.fault_at("apps",
                                   "not yet: SCIF apps",
                                   "the embedded builder reads and checks them, but builds none",
                                   "build with --builder apptainer"));
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return {};
}

bool needs_mirror(const recipes::Recipe& recipe) {
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        if (recipes::stage_context(recipe, i).base.agent == "debootstrap") {
            return true;
        }
    }
    return false;
}

/// What the Recipe and its Lock say of images that stages begin with.
void add_bases(const recipes::Recipe& recipe, const recipes::LockVariant* lock, Plan& plan) {
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        const recipes::StageContext context = recipes::stage_context(recipe, i, lock);
        const recipes::Base& base = recipes::base_of(recipe, *context.fields);
        if (base.image.empty()) {
            continue;
        }
        if (!base.key.empty()) {
            plan.keys[context.base.from].insert(base.key);
        }
        const std::string digest = lock == nullptr ? std::string() : lock->digest_of(base.image);
        if (!digest.empty()) {
            plan.digests[context.base.from] = digest;
        }
    }
}

Result<Plan> plan_recipe(const ImageBuild& request, const fs::path& source) {
    CYBELE_TRY(std::string text, read_file(source));
    CYBELE_TRY(const recipes::Recipe recipe,
               read_variant(std::move(text), source, request.recipe_arguments, request.variant));
    CYBELE_CHECK(check_variant(request, recipe));
    recipes::RenderOptions options;
    options.mirror = request.mirror;
    options.may_be_unverified = request.ignores_lock;
    std::optional<recipes::LockVariant> lock;
    if (!request.ignores_lock) {
        CYBELE_TRY(lock, find_lock(recipe, source));
        options.lock = lock ? &*lock : nullptr;
    }
    if (options.mirror.empty() && needs_mirror(recipe)) {
        CYBELE_TRY(options.mirror, builder::machine_mirror());
    }
    CYBELE_TRY(recipes::Rendered rendered, recipes::render_definition(recipe, options));
    if (request.builder == "embedded") {
        CYBELE_CHECK(check_buildable(recipe));
    }
    Plan plan;
    plan.definition = std::move(rendered.definition);
    plan.labels = std::move(rendered.labels);
    plan.compression = recipe.compression;
    plan.sbom = recipe.sbom;
    add_bases(recipe, options.lock, plan);
    plan.name = recipe.name;
    plan.recipe = recipe.digest;
    plan.version = recipe.version;
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
    // A file of a kept layer is older than one that is made now, where no time is given.
    build.use_cache = request.use_cache && !request.verifies_reproducible;
    build.is_delta = request.is_delta;
    build.step_timeout = request.step_timeout;
    build.stages_at_once = request.stages_at_once;
    build.mirror = request.mirror;
    build.pip_index = request.pip_index;
    build.ca_file = request.ca_file;
    build.now = request.now;
    build.is_deterministic = request.is_deterministic || request.verifies_reproducible;
    build.pack.compression = request.compression.empty() ? plan.compression : request.compression;
    build.labels = plan.labels;
    build.sbom = request.sbom.empty() ? plan.sbom : request.sbom;
    build.bases = request.bases;
    build.bases.digests = plan.digests;
    build.bases.keys = plan.keys;
    build.name = plan.name;
    build.version = plan.version;
    build.is_verbose = request.is_verbose;
    build.on_step = request.on_step;
    return build;
}

/// The name under which an image of another builder lies until it is signed; removed if the build
/// ends before.
struct Unsigned {
    fs::path path;
    ~Unsigned() {
        std::error_code error;
        fs::remove(path, error);
    }
};

/// Before the long build: the key is read, and its passphrase asked for.
Result<images::Signers> load_signers(const ImageBuild& request) {
    images::Signers signers;
    if (!request.sign_key.empty()) {
        CYBELE_TRY(images::PrivateKey key,
                   images::PrivateKey::read(request.sign_key, request.sign_passphrase));
        signers.keys.push_back({std::move(key), {}});
    }
    return signers;
}

Result<void> judge_provenance(const ImageBuild& request) {
    if (request.provenance.empty()) {
        return {};
    }
    if (request.sign_key.empty()) {
        return fail(ErrorCode::kUsage,
                    "--provenance needs a key",
                    "what nobody signed tells nobody anything",
                    "name it with --sign-key FILE");
    }
    if (request.builder != "embedded") {
        return fail(ErrorCode::kUsage,
                    "--provenance with --builder " + request.builder,
                    "only the embedded builder knows what an image was made from",
                    "leave --builder out");
    }
    return {};
}

Result<void> write_provenance(const ImageBuild& request,
                              const images::Signers& signers,
                              const builder::BuildResult& result,
                              BuildFacts facts) {
    if (request.provenance.empty()) {
        return {};
    }
    CYBELE_TRY(const Digest digest, sha256_file(result.image));
    facts.image = result.image.filename().native();
    facts.digest = hex(digest);
    facts.builder = request.builder;
    facts.arguments = request.recipe_arguments;
    facts.bases = result.bases;
    facts.started = request.now;
    facts.finished = request.clock && !request.is_deterministic ? request.clock() : request.now;
    CYBELE_TRY(const std::string text, signed_provenance(facts, signers));
    return write_file(request.provenance, text);
}

/// Options that only the embedded builder has.
Result<void> check_builder(const ImageBuild& request) {
    if (request.builder == "embedded") {
        return {};
    }
    const std::string option = request.is_delta                ? "--delta"
                               : request.step_timeout > 0      ? "--timeout"
                               : request.verifies_reproducible ? "--verify-reproducible"
                                                               : "";
    if (option.empty()) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                option + " with --builder " + request.builder,
                "only the embedded builder can do it",
                "leave one of the two out");
}

/// Builds once more, in a private folder, and compares.
Result<void>
build_again(builder::BuildRequest again, const fs::path& first, const Environment& environment) {
    CYBELE_TRY(const TempDirectory folder,
               TempDirectory::make(first.has_parent_path() ? first.parent_path() : fs::path("."),
                                   ".cybelectl-again"));
    again.output = folder.path() / first.filename();
    again.use_cache = false;
    again.is_delta = false;
    again.finish = nullptr;
    if (again.on_step) {
        again.on_step("build it again, without what is kept, to compare");
    }
    CYBELE_TRY(const builder::BuildResult result, builder::build(again, environment));
    return compare_builds(first, result.image);
}

} // namespace

Result<BuiltImage> build_image(const ImageBuild& request, const Environment& environment) {
    CYBELE_CHECK(check_builder(request));
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
    CYBELE_CHECK(judge_provenance(request));
    CYBELE_TRY(const images::Signers signers, load_signers(request));
    images::SignOptions signing;
    signing.now = request.now;
    const bool is_signed = !signers.keys.empty();
    const fs::path output = plan.output;
    const Unsigned unfinished{output.native() + ".unsigned"};
    const bool is_own = request.builder == "embedded";
    if (is_signed && !is_own) {
        plan.output = unfinished.path;
    }
    BuildFacts facts;
    facts.source = source.filename().native();
    facts.definition = hex(sha256(plan.definition.text));
    facts.recipe = plan.recipe;
    builder::BuildRequest build = builder_request(request, plan, source);
    build.tells_bases = !request.provenance.empty();
    if (is_signed && is_own) {
        for (const images::EnvelopeSigner& signer : signers.keys) {
            build.finish_name += "signed by " + signer.key.public_key().fingerprint() + "\n";
        }
        build.finish = [&](const images::Image& image) {
            images::SignReport done;
            return images::make_signatures(image, signers, signing, done);
        };
    }
    CYBELE_TRY(builder::BuildResult result,
               is_own ? builder::build(build, environment)
                      : builder::build_with(request.builder, build, environment));
    BuiltImage built{output, result.bytes, request.sign_key.native()};
    if (is_signed && !is_own) {
        CYBELE_CHECK(images::sign_image(unfinished.path, signers, signing));
        fs::rename(unfinished.path, output, error);
        if (error) {
            return fail(system_error("cannot put " + printable(output.native()) + " in place",
                                     error.value()));
        }
    }
    if (request.verifies_reproducible) {
        CYBELE_CHECK(build_again(build, output, environment));
    }
    built.bytes = fs::file_size(output, error);
    CYBELE_CHECK(write_provenance(request, signers, result, std::move(facts)));
    return built;
}

} // namespace cybele::project
