// SPDX-License-Identifier: Apache-2.0
#include "recipes/render/render_stage.hpp"

#include "recipes/packages/packages.hpp"
#include "recipes/stage/compilers.hpp"
#include "recipes/stage/render_text.hpp"

namespace cybele::recipes {
namespace {

using definitions::Section;
using definitions::Stage;

/// A word of a `%files` line; double quotes protect blanks there, single ones do not.
std::string file_word(const std::string& path) {
    const bool needs_quotes = path.find_first_of(" \t'#") != std::string::npos;
    return needs_quotes ? "\"" + path + "\"" : path;
}

/// Where a copied file lies afterwards: below `to` when that ends with a slash.
std::string copy_target(const FileCopy& file) {
    if (!file.to.ends_with('/')) {
        return file.to;
    }
    std::string from = file.from;
    while (from.size() > 1 && from.ends_with('/')) {
        from.pop_back();
    }
    const auto slash = from.rfind('/');
    return file.to + (slash == std::string::npos ? from : from.substr(slash + 1));
}

void add_files(Stage& stage, const std::vector<FileCopy>& files) {
    for (const auto& file : files) {
        const std::string arguments = file.stage.empty() ? "" : "from " + file.stage;
        const std::string line = "    " + file_word(file.from) + " " + file_word(file.to) + "\n";
        Section* last = stage.sections.empty() ? nullptr : &stage.sections.back();
        if (last != nullptr && last->name == "files" && last->arguments == arguments) {
            last->text += line;
        } else {
            stage.sections.push_back({"files", arguments, line, 0, false});
        }
    }
    std::string modes;
    for (const auto& file : files) {
        if (!file.mode.empty()) {
            modes += "chmod " + file.mode + " " + definition_quote(copy_target(file)) + "\n";
        }
    }
    if (!modes.empty()) {
        stage.sections.push_back(post_section(isolated(modes)));
    }
}

} // namespace

Section post_section(std::string text) {
    return {"post", {}, std::move(text), 0, true};
}

void add_section(Stage& stage, std::string name, std::string arguments, std::string text) {
    if (!text.empty()) {
        stage.sections.push_back(
            {std::move(name), std::move(arguments), std::move(text), 0, false});
    }
}

std::string script_text(const std::string& script,
                        const std::map<std::string, std::string>& arguments) {
    return script.empty()
               ? script
               : argument_lines(arguments) + script + (script.ends_with('\n') ? "" : "\n");
}

std::string run_lines(const std::vector<std::string>& argv,
                      const std::string& script,
                      const std::map<std::string, std::string>& arguments) {
    if (!script.empty()) {
        return "set -eu\n" + script_text(script, arguments);
    }
    if (argv.empty()) {
        return {};
    }
    std::string line = "exec";
    for (const auto& word : argv) {
        line += " " + definition_quote(word);
    }
    return line + " \"$@\"\n";
}

std::string label_lines(const std::map<std::string, std::string>& labels) {
    std::string lines;
    for (const auto& [name, value] : labels) {
        lines += name;
        lines += value.empty() ? "\n" : " " + value + "\n";
    }
    return lines;
}

void add_packages(Stage& stage, const StageContext& context, const std::vector<std::string>& more) {
    const Packages& packages = context.fields->packages;
    const auto add = [&](const std::string& script) {
        if (!script.empty()) {
            stage.sections.push_back(post_section(isolated(script)));
        }
    };
    add(system_script(context, more));
    for (const auto& source : packages.source) {
        add(source_script(context, source));
    }
    if (!packages.conda_packages.empty()) {
        add(conda_script(context));
    }
    if (!packages.spack.empty()) {
        add(spack_script(context));
    }
    if (!packages.pip.empty()) {
        add(pip_script(context));
    }
}

void add_content(Stage& stage, const StageContext& context) {
    add_files(stage, context.fields->files);
    const std::string compilers = compiler_lines(context);
    const Environment environment = environment_of(context);
    for (const auto& step : context.fields->steps) {
        stage.sections.push_back(
            post_section(step_lines(step, environment, context.recipe->args, compilers)));
    }
}

void add_apps(Stage& stage, const Recipe& recipe) {
    for (const auto& [name, app] : recipe.apps) {
        std::string files;
        for (const auto& file : app.files) {
            const auto to = file.to.find_first_not_of('/');
            files += "    " + file_word(file.from) + " " +
                     file_word(to == std::string::npos ? "." : file.to.substr(to)) + "\n";
        }
        add_section(stage, "appfiles", name, files);
        std::string steps;
        for (const auto& step : app.steps) {
            steps += step_lines(step, app.environment, recipe.args);
        }
        add_section(stage, "appinstall", name, steps);
        add_section(stage, "appenv", name, export_lines(app.environment));
        add_section(stage, "apprun", name, run_lines(app.run_argv, app.run_script, recipe.args));
        add_section(stage,
                    "apptest",
                    name,
                    app.test.empty() ? "" : "set -eu\n" + script_text(app.test, recipe.args));
        add_section(stage, "applabels", name, label_lines(app.labels));
        add_section(stage, "apphelp", name, app.help.empty() ? "" : app.help + "\n");
    }
}

} // namespace cybele::recipes
