// SPDX-License-Identifier: Apache-2.0
#include "recipes/render/render_stage.hpp"

#include "recipes/packages/packages.hpp"
#include "recipes/stage/compilers.hpp"
#include "recipes/stage/render_text.hpp"

#include <algorithm>
#include <string>

namespace cybele::recipes {
namespace {

using definitions::Section;
using definitions::Stage;

/// What a shell that expands a source would read as its own.
constexpr std::string_view kShellSigns = "';&()<>|";

/// A word of a `%files` line; double quotes protect blanks there, single ones do not.
std::string file_word(const std::string& path) {
    const bool needs_quotes = path.find_first_of(" \t#\\'") != std::string::npos;
    return needs_quotes ? "\"" + path + "\"" : path;
}

/// Apptainer expands the source of a `%files` line with a shell, after it removed the quotes.
std::string source_word(const std::string& path) {
    std::string word;
    for (const char c : path) {
        word += kShellSigns.find(c) == std::string_view::npos ? std::string(1, c)
                                                              : std::string{'\\', c};
    }
    return file_word(word);
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

/// Sets the mode of a file, or of all files of a folder, whose folders get `x` where they get `r`.
std::string mode_lines(const std::string& mode, const std::string& target) {
    const std::size_t first = mode.size() - std::min<std::size_t>(mode.size(), 3);
    std::string closed; // classes that may read and not search: `x` is for folders alone
    std::string open;
    for (std::size_t i = first; i < mode.size(); ++i) {
        const int bits = mode[i] - '0';
        const bool is_closed = (bits & 4) != 0 && (bits & 1) == 0;
        std::string& list = is_closed ? closed : open;
        list += (list.empty() ? "" : ",") + std::string(1, "ugo"[i - first]) + "=" +
                ((bits & 4) != 0 ? "r" : "") + ((bits & 2) != 0 ? "w" : "") +
                (is_closed         ? "X"
                 : (bits & 1) != 0 ? "x"
                                   : "");
    }
    if (closed.empty()) {
        return "chmod -R " + mode + " " + target + "\n";
    }
    closed += open.empty() ? "" : "," + open;
    return "if [ -d " + target + " ]; then\n    chmod -R a-x " + target + "\n    chmod -R " +
           closed + " " + target + "\nelse\n    chmod " + mode + " " + target + "\nfi\n";
}

void add_files(Stage& stage, const std::vector<FileCopy>& files) {
    for (const auto& file : files) {
        const std::string arguments = file.stage.empty() ? "" : "from " + file.stage;
        const std::string line = "    " + source_word(file.from) + " " + file_word(file.to) + "\n";
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
            modes += mode_lines(file.mode, definition_quote(copy_target(file)));
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
    const Environment all = environment_of(context);
    const Environment of_packages = package_environment(context);
    for (const auto& step : context.fields->steps) {
        const Environment& environment = step.has_environment ? all : of_packages;
        stage.sections.push_back(
            post_section(step_lines(step, environment, context.recipe->args, compilers)));
        stage.sections.back().line = step.mark.file == 0 ? step.mark.line : 0;
    }
}

void add_apps(Stage& stage, const Recipe& recipe) {
    for (const auto& [name, app] : recipe.apps) {
        std::string files;
        for (const auto& file : app.files) {
            const auto to = file.to.find_first_not_of('/');
            files += "    " + source_word(file.from) + " " +
                     file_word(to == std::string::npos ? "." : file.to.substr(to)) + "\n";
        }
        add_section(stage, "appfiles", name, files);
        std::string steps;
        for (const auto& step : app.steps) {
            steps += step_lines(
                step, step.has_environment ? app.environment : Environment{}, recipe.args);
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
