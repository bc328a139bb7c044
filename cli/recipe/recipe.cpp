// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/recipe.hpp"

#include "cli/common/assignments.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/output.hpp"
#include "cli/common/session.hpp"
#include "cli/recipe/checked.hpp"
#include "cli/recipe/definition.hpp"
#include "cli/recipe/text.hpp"
#include "definitions/grammar/definition.hpp"
#include "pipeline/project_file.hpp"
#include "pipeline/recipe_file.hpp"
#include "pipeline/recipe_inputs.hpp"
#include "pipeline/recipe_lock.hpp"
#include "pipeline/schemas.hpp"
#include "recipes/starters/init.hpp"
#include "recipes/tables/tables.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/message.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

struct RecipeOptions {
    std::string file;
    std::vector<std::string> files; ///< of `check`: Recipes, or folders of Recipes
    std::string output;
    std::string mirror;
    std::string form = "def";
    std::string dialect;
    std::string variant;
    std::vector<std::string> arguments;
    bool is_strict = false;
    bool is_unlocked = false;
    bool shows_distributions = false;
    bool shows_needs = false;
};

/// The one variant that is meant; of several one must be named.
Result<recipes::Recipe> read_one(const RecipeOptions& options) {
    CYBELE_TRY(std::string text, recipe_text(options.file));
    CYBELE_TRY(const auto arguments, read_assignments(kRecipeArguments, options.arguments));
    CYBELE_TRY(recipes::Recipe recipe,
               pipeline::read_variant(std::move(text), options.file, arguments, options.variant));
    if (options.variant.empty() && !recipe.variants.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("variant-not-named",
                            fmt::format("the Recipe has {} variants", recipe.variants.size())),
                    fmt::format("they are {}", fmt::join(recipe.variants, ", ")),
                    "choose one with --variant");
    }
    return recipe;
}

Result<int> check_recipe(Session& session, const RecipeOptions& options) {
    CYBELE_TRY(const auto all, check_each(options.files, options.arguments, options.is_unlocked));
    const bool has_warnings =
        std::ranges::any_of(all, [](const CheckedRecipe& one) { return !one.warnings.empty(); });
    if (session.is_json()) {
        nlohmann::json document{{"format", 1}};
        if (all.size() == 1) {
            document.update(all.front().json());
        } else {
            for (const CheckedRecipe& one : all) {
                document["recipes"].push_back(one.json());
            }
        }
        Session::print(json_text(document) + "\n");
    }
    for (const CheckedRecipe& one : all) {
        if (!session.is_json()) {
            session.note(one.warnings, options.is_strict);
        }
        const bool is_text = !session.is_json() && !session.is_sarif();
        if (is_text && !session.is_quiet && one.warnings.empty()) {
            Session::print(one.file + ": no problems found\n");
        }
    }
    return options.is_strict && has_warnings ? 3 : 0;
}

Result<std::string> render_as(const recipes::Recipe& recipe,
                              const recipes::RenderOptions& options,
                              const std::string& form) {
    if (form == "dockerfile") {
        return recipes::render_dockerfile(recipe, options);
    }
    CYBELE_TRY(recipes::Rendered rendered, recipes::render_definition(recipe, options));
    return std::move(rendered.definition.text);
}

Result<int> render_recipe(Session& session, const RecipeOptions& options) {
    CYBELE_TRY(const recipes::Recipe recipe, read_one(options));
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    recipes::RenderOptions render;
    render.mirror = options.mirror.empty() ? settings.get("mirror") : options.mirror;
    render.may_be_unverified = options.is_unlocked;
    if (!options.dialect.empty()) {
        CYBELE_TRY(render.dialect, definitions::parse_dialect(options.dialect));
    }
    std::optional<recipes::LockVariant> lock;
    if (!options.is_unlocked && options.file != "-") {
        CYBELE_TRY(lock, pipeline::find_lock(recipe, options.file));
        render.lock = lock ? &*lock : nullptr;
    }
    CYBELE_TRY(const std::string text, render_as(recipe, render, options.form));
    session.note(recipes::not_rendered(recipe));
    CYBELE_CHECK(check_output(options.output, {options.file}));
    CYBELE_CHECK(write_rendered(
        session,
        options.output.empty() ? "-" : options.output,
        text,
        {{"name", recipe.name}, {"as", options.form}, {"recipe", "sha256:" + recipe.digest}}));
    return 0;
}

std::string marked(const recipes::Marked& value) {
    return value.is_known() ? std::string(value.text) : "not known";
}

Result<int> list_tables(Session& session, const RecipeOptions& options) {
    auto rows = nlohmann::json::array();
    std::string text;
    for (const auto& row : recipes::distributions()) {
        rows.push_back({{"distribution", row.id},
                        {"manager", row.manager},
                        {"agent", row.agent},
                        {"image", row.image},
                        {"support", marked(row.end_of_support)}});
        text += fmt::format(
            "{:<20} {:<7} {:<12} {}\n", row.id, row.manager, row.agent, marked(row.end_of_support));
    }
    if (options.shows_needs) {
        rows = nlohmann::json::array();
        text.clear();
        for (const auto& row : recipes::needs()) {
            nlohmann::json cells;
            for (std::size_t i = 0; i < row.cells.size(); ++i) {
                cells[std::string(recipes::need_columns()[i])] = row.cells[i].packages;
            }
            rows.push_back({{"need", row.need}, {"packages", cells}});
            text += fmt::format("{:<20} {}\n", row.need, row.cells.front().packages);
        }
    }
    Session::print(
        session.is_json()
            ? nlohmann::json{{"format", 1}, {options.shows_needs ? "needs" : "distributions", rows}}
                      .dump(2) +
                  "\n"
            : text);
    return 0;
}

struct Listed {
    std::string name;
    std::string where;
    std::string help;
};

Result<std::vector<Listed>> project_recipes(const std::string& folder) {
    std::vector<Listed> list;
    std::vector<fs::path> files;
    for (const auto& place : {fs::path(folder), fs::path(folder) / "recipes"}) {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(place, error)) {
            const std::string name = entry.path().filename().native();
            if (entry.path().extension() == ".yaml" && !name.ends_with(".lock.yaml")) {
                files.push_back(entry.path());
            }
        }
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        CYBELE_TRY(std::string text, read_file(file).map_error(during("reading the Recipe")));
        if (text.find("kind: Recipe") == std::string::npos) {
            continue;
        }
        const auto recipe = recipes::read_recipe(std::move(text), file);
        list.push_back({recipe ? recipe->name : file.stem().native(),
                        file.native(),
                        recipe ? recipe->help : "cannot be read: `cybelectl recipe check`"});
    }
    return list;
}

Result<int> list_recipes(Session& session, const RecipeOptions& options) {
    if (options.shows_distributions || options.shows_needs) {
        return list_tables(session, options);
    }
    CYBELE_TRY(std::vector<Listed> list,
               project_recipes(options.file.empty() ? "." : options.file));
    for (const auto& [name, text] : recipes::catalogue()) {
        const auto recipe = recipes::read_recipe(std::string(text), std::string(name) + ".yaml");
        list.push_back({std::string(name), "catalogue", recipe ? recipe->help : std::string{}});
    }
    auto rows = nlohmann::json::array();
    std::string text;
    for (const auto& row : list) {
        rows.push_back({{"name", row.name}, {"where", row.where}, {"help", row.help}});
        text += fmt::format("{:<20} {:<24} {}\n", row.name, row.where, row.help);
    }
    Session::print(session.is_json()
                       ? json_text(nlohmann::json{{"format", 1}, {"recipes", rows}}) + "\n"
                       : text);
    return 0;
}

Result<int> show_recipe(Session& session, const RecipeOptions& options) {
    CYBELE_TRY(const recipes::Recipe recipe, read_one(options));
    if (session.is_json()) {
        const nlohmann::json document{{"format", 1},
                                      {"name", recipe.name},
                                      {"version", recipe.version},
                                      {"recipe", "sha256:" + recipe.digest},
                                      {"variants", recipe.variants},
                                      {"text", recipe.text}};
        Session::print(json_text(document) + "\n");
    } else {
        Session::print(recipe.text);
    }
    return 0;
}

/// A path in the place of a name says where the file is meant to be.
Result<void> check_new_name(const std::string& given) {
    const fs::path path(given);
    const std::string name = (path.extension() == ".yaml" ? path.stem() : path.filename()).native();
    if (path.native() == name || !is_name(name)) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("recipe-name-is-path",
                        "'" + printable(given) + "' is a path, not the name of a Recipe"),
                "its name is also that of the image",
                "write `cybelectl recipe new " + name + " -o " +
                    shell_quote((path.parent_path() / (name + ".yaml")).native()) + "`");
}

Result<int> new_recipe(Session& session, const RecipeOptions& options) {
    CYBELE_CHECK(check_new_name(options.file));
    CYBELE_TRY(const std::string text, recipes::new_recipe(options.file));
    const std::string path = options.output.empty() ? options.file + ".yaml" : options.output;
    std::error_code error;
    if (path != "-" && fs::exists(fs::symlink_status(path, error))) {
        return fail(ErrorCode::kInput,
                    problem("recipe-file-exists", printable(path) + " exists already"),
                    "a new Recipe replaces nothing",
                    "choose another name, or another file with -o");
    }
    if (path != "-" && fs::path(path).has_parent_path()) {
        CYBELE_CHECK(make_directories(fs::path(path).parent_path()));
    }
    CYBELE_CHECK(write_file(path, text));
    if (path != "-") {
        CYBELE_CHECK(pipeline::write_schemas(fs::path(path).parent_path(), {"Recipe"}));
    }
    if (!session.is_quiet && path != "-") {
        Session::print(path + "\n");
    }
    return 0;
}

/// Adds verbs that share one set of options.
class RecipeVerbs {
public:
    using Work = Result<int> (*)(Session&, const RecipeOptions&);

    RecipeVerbs(CLI::App& parent, Session& session) : parent_(parent), session_(session) {}

    CLI::App& add(const std::string& name,
                  const std::string& description,
                  const std::vector<std::string>& examples,
                  Work work,
                  Formats formats = Formats::kUsual) {
        CLI::App* verb = add_verb(parent_, name, description, examples);
        add_format(*verb, session_, formats);
        verb->callback([&session = session_, options = options_, work] {
            session.checked_file = options->files.empty() ? "" : options->files.front();
            session.action = [&session, options, work] {
                return work(session, *options)
                    .map_error(during(options->file.empty()
                                          ? "working on Recipes"
                                          : "working on the Recipe '" + options->file + "'"));
            };
        });
        return *verb;
    }

    void take_recipe(CLI::App& verb) {
        verb.add_option("file", options_->file, "the Recipe; - is standard input")
            ->required()
            ->type_name("RECIPE");
        add_assignments(verb, kRecipeArguments, options_->arguments);
    }

    void take_variant(CLI::App& verb) {
        verb.add_option("--variant", options_->variant, "variant of a Recipe with a matrix")
            ->type_name("NAME");
    }

    RecipeOptions& options() {
        return *options_;
    }

private:
    CLI::App& parent_;
    Session& session_;
    std::shared_ptr<RecipeOptions> options_ = std::make_shared<RecipeOptions>();
};

void add_check(RecipeVerbs& verbs) {
    CLI::App& verb =
        verbs.add("check",
                  "Check a Recipe with its includes and variants, and report all errors.",
                  {"cybelectl recipe check app.yaml",
                   "cybelectl recipe check app.yaml --strict",
                   "cybelectl recipe check .",
                   "cybelectl recipe check . --format sarif > recipes.sarif"},
                  check_recipe,
                  Formats::kAlsoSarif);
    verb.add_option("file",
                    verbs.options().files,
                    "Recipes, or folders with the Recipes of a project; - is standard input")
        ->required()
        ->type_name("RECIPE");
    add_assignments(verb, kRecipeArguments, verbs.options().arguments);
    verb.add_flag("--strict", verbs.options().is_strict, "treat warnings as errors (exit code 3)");
    verb.add_flag("--unlocked",
                  verbs.options().is_unlocked,
                  "ignore the Lock; install packages without a checksum");
}

void add_render(RecipeVerbs& verbs) {
    RecipeOptions& options = verbs.options();
    CLI::App& verb = verbs.add("render",
                               "Write a Recipe as a definition file or a Dockerfile.",
                               {"cybelectl recipe render app.yaml > app.def",
                                "cybelectl recipe render app.yaml --as dockerfile",
                                "cybelectl recipe render app.yaml --dialect 'singularity 3.5' "
                                "--mirror URL",
                                "cybelectl recipe render app.yaml --variant app-openmpi"},
                               render_recipe);
    verbs.take_recipe(verb);
    verbs.take_variant(verb);
    verb.add_option("--as", options.form, "form")
        ->check(CLI::IsMember({"def", "dockerfile"}))
        ->capture_default_str();
    verb.add_option("--dialect",
                    options.dialect,
                    "the program that must understand it, as `apptainer>=1.2`, `ce>=4.0`")
        ->type_name("DIALECT");
    verb.add_option("-o,--output", options.output, "output file (default: standard output)")
        ->type_name("FILE");
    verb.add_option("--mirror", options.mirror, "package mirror (default: {{ mirror }})")
        ->type_name("URL");
    verb.add_flag(
        "--unlocked", options.is_unlocked, "ignore the Lock; install packages without a checksum");
}

void add_others(RecipeVerbs& verbs) {
    RecipeOptions& options = verbs.options();
    CLI::App& list = verbs.add("list",
                               "List the Recipes of a folder and of the catalogue.",
                               {"cybelectl recipe list", "cybelectl recipe list --distributions"},
                               list_recipes);
    list.add_option("folder", options.file, "the project's folder")->type_name("DIR");
    list.add_flag(
        "--distributions", options.shows_distributions, "list distributions for `base` instead");
    list.add_flag("--needs", options.shows_needs, "list generic package names instead");
    CLI::App& show = verbs.add(
        "show",
        "Show a Recipe as it is built: includes, conditions and arguments resolved.",
        {"cybelectl recipe show app.yaml --arg release=13", "cybelectl recipe show hello-mpi"},
        show_recipe);
    verbs.take_recipe(show);
    verbs.take_variant(show);
    CLI::App& make = verbs.add(
        "new",
        "Write a commented Recipe to begin with.",
        {"cybelectl recipe new solver", "cybelectl recipe new solver -o recipes/solver.yaml"},
        new_recipe);
    make.add_option("name", options.file, "of the Recipe")->required()->type_name("NAME");
    make.add_option("-o,--output", options.output, "output file (default: NAME.yaml)")
        ->type_name("FILE");
}

} // namespace

Result<std::string> recipe_text(const std::string& file) {
    std::error_code error;
    if (file.find('/') == std::string::npos && !fs::exists(file, error)) {
        for (const auto& [name, text] : recipes::catalogue()) {
            if (name == file) {
                return std::string(text);
            }
        }
    }
    return read_file(file);
}

void install_recipe(CLI::App& app, Session& session) {
    CLI::App* recipe = add_verb(app,
                                "recipe",
                                "Check, render, lock, import and show Recipes.",
                                {"cybelectl recipe list", "cybelectl recipe check app.yaml"});
    recipe->require_subcommand(1);
    RecipeVerbs verbs(*recipe, session);
    add_check(verbs);
    add_render(verbs);
    install_recipe_lock(*recipe, session);
    add_others(verbs);
    install_recipe_import(*recipe, session);

    install_definition(app, session);
}

} // namespace cybele::cli
