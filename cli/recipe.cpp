// SPDX-License-Identifier: Apache-2.0
#include "recipes/recipe.hpp"

#include "cli/session.hpp"
#include "definitions/definition.hpp"
#include "support/file.hpp"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace cybele::cli {

namespace {

struct Options {
    std::string file;
    std::string output = "-";
    std::string mirror;
};

Result<recipes::Recipe> read(const std::string& file) {
    CYBELE_TRY(std::string text, read_file(file));
    return recipes::read_recipe(std::move(text), file);
}

Result<int> check_recipe(Session& session, const Options& options) {
    CYBELE_TRY(const recipes::Recipe recipe, read(options.file));
    CYBELE_CHECK(recipes::render_definition(recipe));
    if (!session.is_quiet) {
        Session::print(options.file + ": nothing wrong\n");
    }
    return 0;
}

Result<int> render_recipe(Session& session, const Options& options) {
    CYBELE_TRY(const recipes::Recipe recipe, read(options.file));
    CYBELE_TRY(const project::Settings settings, session.settings());
    const std::string mirror = options.mirror.empty() ? settings.get("mirror") : options.mirror;
    CYBELE_TRY(const recipes::Rendered rendered, recipes::render_definition(recipe, mirror));
    CYBELE_CHECK(write_file(options.output, rendered.definition.text));
    return 0;
}

Result<int> check_definition(Session& session, const Options& options) {
    CYBELE_TRY(const std::string text, read_file(options.file));
    definitions::BuildArguments arguments;
    arguments["mirror"] = "https://mirror.example/debian"; // any value: it is not contacted
    CYBELE_CHECK(definitions::parse_definition(text, options.file, arguments));
    if (!session.is_quiet) {
        Session::print(options.file + ": nothing wrong\n");
    }
    return 0;
}

} // namespace

void install_recipe(CLI::App& app, Session& session) {
    auto options = std::make_shared<Options>();
    const auto on = [&](CLI::App* verb, auto work) {
        add_format(*verb, session);
        verb->callback([&session, options, work] {
            session.action = [&session, options, work] { return work(session, *options); };
        });
    };
    CLI::App* recipe = add_verb(app, "recipe", "Check Recipes and render definition files.", {});
    recipe->require_subcommand(1);
    CLI::App* check = add_verb(*recipe,
                               "check",
                               "Read a Recipe and tell every fault in it.",
                               {"cybelectl recipe check app.yaml"});
    check->add_option("file", options->file, "the Recipe; - is standard input")
        ->required()
        ->type_name("RECIPE");
    on(check, check_recipe);
    CLI::App* render = add_verb(*recipe,
                                "render",
                                "Write the definition file of a Recipe.",
                                {"cybelectl recipe render app.yaml > app.def",
                                 "cybelectl recipe render app.yaml -o app.def"});
    render->add_option("file", options->file, "the Recipe; - is standard input")
        ->required()
        ->type_name("RECIPE");
    render->add_option("-o,--output", options->output, "file; - is standard output")
        ->type_name("FILE");
    render->add_option("--mirror", options->mirror, "package mirror; else {{ mirror }}")
        ->type_name("URL");
    on(render, render_recipe);

    CLI::App* def = add_verb(app, "def", "Work with definition files.", {});
    def->require_subcommand(1);
    CLI::App* check_def =
        add_verb(*def,
                 "check",
                 "Read a definition file as Apptainer would, and tell its faults.",
                 {"cybelectl def check app.def"});
    check_def->add_option("file", options->file, "the definition file; - is standard input")
        ->required()
        ->type_name("DEF");
    on(check_def, check_definition);
}

} // namespace cybele::cli
