// SPDX-License-Identifier: Apache-2.0
#include "pipeline/image_plan.hpp"

#include "builder/pack/builder.hpp"
#include "builder/request/mirror.hpp"
#include "definitions/grammar/keep_sections.hpp"
#include "pipeline/document_kind.hpp"
#include "pipeline/image_source.hpp"
#include "pipeline/recipe_file.hpp"
#include "pipeline/recipe_lock.hpp"
#include "pipeline/recipe_sources.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/stage/base.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cybele::pipeline {

namespace fs = std::filesystem;

namespace {

fs::path folder_of(const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// One image is built at a time: of a Recipe with a matrix the variant must be named.
Result<void> check_variant(const ImageBuild& request, const recipes::Recipe& recipe) {
    if (!request.recipe.variant.empty() || recipe.variants.empty()) {
        return {};
    }
    std::string list;
    for (const auto& name : recipe.variants) {
        list += (list.empty() ? "" : ", ") + name;
    }
    return fail(ErrorCode::kUsage,
                problem("variant-not-named",
                        "the Recipe has " + std::to_string(recipe.variants.size()) + " variants"),
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
            faults.add(recipe.fault_at(
                context.prefix + "base",
                problem("base-agent-unsupported",
                        "building from '" + context.base.from + "' is not supported yet"),
                "the embedded builder has no agent '" + context.base.agent + "'",
                "build with --builder apptainer, or begin with a Debian "
                "release or an image that it knows"));
        }
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
void add_bases(const recipes::Recipe& recipe, const recipes::LockVariant* lock, ImagePlan& plan) {
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

/// Lists the host's files once for all that ask: by the rules of a Recipe, which another builder
/// does not have, and for a definition by what it copies.
Result<void>
open_files(const ImageBuild& request, const Environment& environment, ImagePlan& plan) {
    using builder::BuildContext;
    using builder::ContextFiles;
    using Rules = BuildContext::Rules;
    const fs::path& output = request.output.empty() ? plan.output : request.output;
    const bool is_own = request.settings.builder == "embedded";
    const auto open = [&](Rules rules) {
        return BuildContext::open(rules, plan.directory, output);
    };
    const bool has_one_rule = plan.is_recipe && is_own;
    CYBELE_TRY(auto taken, open(has_one_rule ? Rules::kRecipe : Rules::kDefinition));
    std::optional<BuildContext> inputs;
    if (!has_one_rule) {
        CYBELE_TRY(inputs, open(plan.is_recipe ? Rules::kRecipe : Rules::kInputs));
    }
    plan.files = std::make_shared<ContextFiles>(
        std::move(taken),
        std::move(inputs),
        is_own           ? ContextFiles::Reads::kAll
        : plan.is_recipe ? ContextFiles::Reads::kInputs
                         : ContextFiles::Reads::kNothing,
        request.use_cache ? registry::KnownFiles::open_own(environment.cache_directory())
                          : registry::KnownFiles::none());
    return {};
}

/// What the image is made from, in the image and as labels.
Result<void>
add_sources(const SourcesRequest& from, const Environment& environment, ImagePlan& plan) {
    CYBELE_TRY(const RecipeSources sources, find_recipe_sources(from, *plan.files, environment));
    plan.files->known().save();
    plan.image.sources = print_recipe_sources(sources);
    plan.image.labels["cybelectl.sources"] = "sha256:" + hex(sha256(plan.image.sources));
    if (from.lock != nullptr) {
        plan.image.labels["cybelectl.lock"] = "sha256:" + recipes::lock_digest(*from.lock);
    }
    return {};
}

void add_copies(const recipes::Recipe& recipe,
                const std::vector<recipes::FileCopy>& files,
                const std::string& prefix,
                ImagePlan& plan) {
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (files[i].stage.empty()) {
            const std::string field = prefix + "files[" + std::to_string(i) + "].from";
            plan.copies.push_back(
                {{files[i].from, files[i].to, 0, {}}, files[i].allow, recipe.fault_at(field, {})});
        }
    }
}

/// The files of the host that stages and apps take.
void add_copies(const recipes::Recipe& recipe, ImagePlan& plan) {
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        const recipes::StageContext context = recipes::stage_context(recipe, i);
        add_copies(recipe, context.fields->files, context.prefix, plan);
    }
    for (const auto& [name, app] : recipe.apps) {
        add_copies(recipe, app.files, "apps." + name + ".", plan);
    }
}

void add_copies(const definitions::Definition& definition, ImagePlan& plan) {
    using Kind = definitions::FilesOrigin::Kind;
    for (const definitions::Stage& stage : definition.stages) {
        for (const definitions::Section& section : stage.sections) {
            const bool is_host =
                section.name == "appfiles" ||
                (section.name == "files" && definitions::files_origin(section).kind == Kind::kHost);
            for (definitions::FileLine& line : is_host ? definitions::file_lines(section)
                                                       : std::vector<definitions::FileLine>()) {
                plan.copies.push_back({std::move(line), {}, {}});
            }
        }
    }
}

Result<std::shared_ptr<const recipes::Recipe>> recipe_of(const ImageBuild& request,
                                                         const fs::path& source) {
    if (request.recipe.read != nullptr) {
        return request.recipe.read;
    }
    CYBELE_TRY(std::string text, read_file(source).map_error(during("reading the Recipe")));
    CYBELE_TRY(
        recipes::Recipe recipe,
        read_variant(std::move(text), source, request.recipe.arguments, request.recipe.variant));
    return std::make_shared<const recipes::Recipe>(std::move(recipe));
}

Result<ImagePlan>
plan_recipe(const ImageBuild& request, const fs::path& source, const Environment& environment) {
    if (!request.definition.sections.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("section-of-recipe", "--section needs a definition file"),
                    "a Recipe has fields, not sections",
                    "leave out --section");
    }
    CYBELE_TRY(const auto read, recipe_of(request, source));
    const recipes::Recipe& recipe = *read;
    CYBELE_CHECK(check_variant(request, recipe));
    recipes::RenderOptions options;
    options.mirror = request.settings.packages.mirror;
    options.may_be_unverified = request.recipe.ignores_lock;
    std::optional<recipes::LockVariant> lock;
    if (!request.recipe.ignores_lock) {
        CYBELE_TRY(lock, find_lock(recipe, source));
        options.lock = lock ? &*lock : nullptr;
    }
    if (options.mirror.empty() && needs_mirror(recipe)) {
        CYBELE_TRY(options.mirror, builder::machine_mirror());
    }
    CYBELE_TRY(recipes::Rendered rendered, recipes::render_definition(recipe, options));
    if (request.settings.builder == "embedded") {
        CYBELE_CHECK(check_buildable(recipe));
    }
    ImagePlan plan;
    plan.definition = std::move(rendered.definition);
    plan.image.labels = std::move(rendered.labels);
    plan.image.compression = recipe.compression;
    plan.image.sbom = recipe.sbom;
    plan.is_recipe = true;
    if (lock) {
        plan.epoch = static_cast<std::int64_t>(lock->epoch);
    }
    add_copies(recipe, plan);
    add_bases(recipe, options.lock, plan);
    plan.image.name = recipe.name;
    plan.recipe = recipe.digest;
    plan.document = read;
    plan.image.version = recipe.version;
    plan.output = source.parent_path() / (recipe.name + ".sif");
    plan.directory = folder_of(source);
    CYBELE_CHECK(open_files(request, environment, plan));
    const SourcesRequest from{
        &recipe, options.lock, request.recipe.ignores_lock, request.settings.bases.store};
    CYBELE_CHECK(add_sources(from, environment, plan));
    return plan;
}

/// The stage begins with this directory, whatever its header says.
void go_on_in(definitions::Stage& stage, const fs::path& directory) {
    std::erase_if(stage.header, [](const auto& line) { return line.first != "stage"; });
    stage.header.emplace_back("bootstrap", "localimage");
    stage.header.emplace_back("from", directory.native());
}

/// As Apptainer, before the build reports anything.
void print_warning(const std::string& words) {
    const std::string line = "WARNING: " + words + "\n";
    (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

/// An error, or only a warning. By the name of Apptainer one names all arguments, as there.
Result<void> check_unused(const ImageBuild& request,
                          std::vector<definitions::Finding> findings,
                          const std::set<std::string>& used) {
    std::string names;
    if (request.definition.follows_apptainer && !findings.empty()) {
        for (const auto& [name, value] : request.definition.arguments) {
            if (!used.contains(name)) {
                names += (names.empty() ? "" : " ") + printable(name);
            }
        }
        findings.resize(1);
        findings.front().fault.message = "the build arguments '" + names + "' are used nowhere";
        findings.front().fault.subject = names;
    }
    if (!request.definition.warns_unused_arguments) {
        return definitions::as_error(findings);
    }
    if (request.definition.follows_apptainer && !findings.empty()) {
        print_warning("Unused build args: " + names);
        return {};
    }
    for (const definitions::Finding& finding : findings) {
        request.settings.reporter.tell("warning: " + finding.fault.message);
    }
    return {};
}

/// By the name of Apptainer, a line of %arguments that is none is skipped with a warning.
void warn_of_arguments(const definitions::Definition& definition) {
    for (const definitions::Stage& stage : definition.stages) {
        const std::string all = stage.joined("arguments");
        for (const std::string_view line : text::split_terminated(all, '\n')) {
            const std::string shown = printable(std::string(text::trimmed(line)));
            if (shown.empty() || shown.front() == '#') {
                continue;
            }
            if (shown.front() == '=') {
                print_warning(fmt::format(
                    "Skipping \"{0}\" in 'arguments' section: missing key portion in \"{0}\"",
                    shown));
            } else if (shown.find('=') == std::string::npos) {
                print_warning(fmt::format(
                    "Skipping \"{0}\" in 'arguments' section: \"{0}\" is not a key=value pair",
                    shown));
            }
        }
    }
}

Result<ImagePlan>
plan_definition(const ImageBuild& request, const fs::path& source, const Environment& environment) {
    if (source == "-" && request.output.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("output-not-named", "a definition on standard input needs an output"),
                    "the image is otherwise named after the file",
                    "name one: `cybelectl build - -o NAME.sif`");
    }
    CYBELE_TRY(const std::string text, read_file(source));
    definitions::ParseOptions options;
    options.arguments = request.definition.arguments;
    if (text.find("{{") != std::string::npos && !options.arguments.contains("mirror")) {
        // A definition that a Recipe was rendered to leaves the mirror open: the machine's own.
        if (!request.settings.packages.mirror.empty()) {
            options.arguments["mirror"] = request.settings.packages.mirror;
        } else if (auto own = builder::machine_mirror(); own) {
            options.arguments["mirror"] = *own;
        }
    }
    const std::string& file = source.native();
    definitions::ParseOutcome outcome = definitions::read_definition(text, file, options);
    CYBELE_CHECK(definitions::as_error(outcome.refusals));
    if (request.definition.follows_apptainer) {
        warn_of_arguments(outcome.definition);
    }
    CYBELE_CHECK(check_unused(
        request,
        definitions::unused_arguments(request.definition.arguments, outcome, text, file),
        outcome.used_arguments));
    ImagePlan plan;
    plan.definition = std::move(outcome.definition);
    if (!request.definition.follows_apptainer) {
        CYBELE_CHECK(definitions::check_section_names(request.definition.sections));
    }
    CYBELE_CHECK(definitions::keep_sections(plan.definition, request.definition.sections));
    if (!request.definition.update.empty()) {
        go_on_in(plan.definition.stages.back(), request.definition.update);
    }
    add_copies(plan.definition, plan);
    plan.output = source.parent_path() / (source.stem().native() + ".sif");
    plan.directory = request.definition.follows_apptainer ? fs::path(".") : folder_of(source);
    CYBELE_CHECK(open_files(request, environment, plan));
    return plan;
}

/// An image as the base of one, and nothing more.
Result<ImagePlan> plan_base(const ImageBuild& request, const fs::path& source) {
    const ImageSource base = image_source(source).value_or(ImageSource());
    ImagePlan plan;
    const bool follows_apptainer =
        request.definition.follows_apptainer; // the image keeps this text
    const std::string text = (follows_apptainer ? "bootstrap: " : "Bootstrap: ") + base.agent +
                             (follows_apptainer ? "\nfrom: " : "\nFrom: ") + base.from + "\n";
    CYBELE_TRY(plan.definition, definitions::parse_definition(text, source.native()));
    definitions::Stage& stage = plan.definition.stages.back();
    if (plan.definition.stages.size() > 1 || stage.header_value("from") != base.from) {
        return fail(ErrorCode::kInput,
                    problem("base-not-expressible",
                            "'" + printable(source.native()) + "' cannot be the base of an image"),
                    "a definition's header cannot hold such a name",
                    "give it another name");
    }
    if (!request.definition.update.empty()) {
        go_on_in(stage, request.definition.update);
    }
    plan.is_image = true;
    plan.directory = base.directory;
    plan.output = base.output;
    return plan;
}

} // namespace

std::string_view name_of(SourceKind kind) {
    constexpr std::string_view kNames[] = {"a Recipe", "a definition file", "an image"};
    return kNames[static_cast<std::size_t>(kind)];
}

Result<void> check_source_options(const ImageBuild& request, SourceKind kind) {
    struct Row {
        const char* option;
        SourceKind kind; ///< that it is for
        bool is_given;
    };
    const Row rows[] = {
        {"--build-arg",
         SourceKind::kDefinition,
         !request.definition.arguments.empty() && !request.definition.follows_apptainer},
        {"--arg", SourceKind::kRecipe, !request.recipe.arguments.empty()},
        {"--variant", SourceKind::kRecipe, !request.recipe.variant.empty()},
        {"--unlocked", SourceKind::kRecipe, request.recipe.ignores_lock},
    };
    const auto* const row = std::ranges::find_if(
        rows, [&](const Row& one) { return one.is_given && one.kind != kind; });
    if (row == std::end(rows)) {
        return {};
    }
    const std::string option = row->option;
    return fail(
        ErrorCode::kUsage,
        problem("option-with-source-kind", option + " with " + std::string(name_of(kind))),
        row->kind == SourceKind::kRecipe ? "it is for Recipes"
                                         : "it gives values to the {{ NAME }} of a definition file",
        kind == SourceKind::kRecipe ? "give values to the Recipe's `args` with --arg NAME=VALUE"
        : kind == SourceKind::kDefinition && option == "--arg"
            ? "give values to {{ NAME }} with --build-arg NAME=VALUE"
            : "leave it out");
}

Result<ImagePlan>
plan_image(const ImageBuild& request, const fs::path& source, const Environment& environment) {
    const SourceKind kind =
        request.recipe.read != nullptr ? SourceKind::kRecipe : source_kind(source);
    CYBELE_CHECK(check_source_options(request, kind));
    CYBELE_TRY(ImagePlan plan,
               kind == SourceKind::kRecipe       ? plan_recipe(request, source, environment)
               : kind == SourceKind::kDefinition ? plan_definition(request, source, environment)
                                                 : plan_base(request, source));
    plan.source = source;
    return plan;
}

} // namespace cybele::pipeline
