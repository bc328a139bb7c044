// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/lines.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/packages/packages.hpp"
#include "support/json.hpp"

#include <set>

#include <fmt/format.h>

namespace cybele::recipes {
namespace {

using definitions::Section;
using definitions::Stage;

/// A text in double quotes of ENV and LABEL; there `$` names a variable.
std::string docker_quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\' || c == '$') {
            result += '\\';
        }
        result += c;
    }
    return result + "\"";
}

/// A JSON string, for the exec form of instructions.
std::string json(std::string_view text) {
    return json_text(nlohmann::json(std::string(text)), -1);
}

std::string run(std::string_view script) {
    std::string delimiter = "CYBELECTL_RUN";
    const std::string whole = "\n" + std::string(script);
    while (whole.find("\n" + delimiter + "\n") != std::string::npos) {
        delimiter += "_";
    }
    return "RUN <<'" + delimiter + "'\n" + std::string(script) + delimiter + "\n";
}

/// COPY takes a folder's content where `%files` takes the folder: below a destination that ends
/// with a slash the name is written out, which is right for both kinds of sources.
std::string dockerfile_target(const definitions::FileLine& file) {
    std::string to = file.destination.empty() ? file.source : file.destination;
    const bool is_pattern = file.source.find_first_of("*?[") != std::string::npos;
    if (!to.ends_with('/') || is_pattern || file.destination.empty()) {
        return to;
    }
    const std::size_t end = file.source.find_last_not_of('/') + 1; // npos + 1 is 0
    const std::string source = file.source.substr(0, end);
    return to + source.substr(source.rfind('/') + 1);
}

std::string dockerfile_copies(const Section& section) {
    const auto origin = definitions::files_origin(section);
    const std::string from = origin.stage.empty() ? "" : "--from=" + origin.stage + " ";
    std::string lines;
    for (const auto& file : definitions::file_lines(section)) {
        lines +=
            "COPY " + from + "[" + json(file.source) + ", " + json(dockerfile_target(file)) + "]\n";
    }
    return lines;
}

std::string environment_lines(const Environment& environment) {
    std::string lines;
    for (const auto& [name, value] : environment) {
        const std::string own = docker_quoted(value.value);
        const std::string inner = own.substr(1, own.size() - 2);
        switch (value.how) {
        case EnvironmentValue::How::kSet:
            lines += fmt::format("ENV {}={}\n", name, own);
            break;
        case EnvironmentValue::How::kPrepend:
            lines += fmt::format("ENV {0}=\"{1}${{{0}:+:${0}}}\"\n", name, inner);
            break;
        case EnvironmentValue::How::kAppend:
            lines += fmt::format("ENV {0}=\"${{{0}:+${0}:}}{1}\"\n", name, inner);
            break;
        }
    }
    return lines;
}

std::string entry_point(const Recipe& recipe) {
    if (!recipe.run_script.empty()) {
        return "ENTRYPOINT [\"/bin/sh\", \"-euc\", " +
               json(argument_lines(recipe.args) + recipe.run_script) + ", " + json(recipe.name) +
               "]\n";
    }
    if (recipe.run_argv.empty()) {
        return {};
    }
    std::string words;
    for (const auto& word : recipe.run_argv) {
        words += (words.empty() ? "" : ", ") + json(word);
    }
    return "ENTRYPOINT [" + words + "]\n";
}

/// What the form lacks.
void refuse_for_dockerfile(const Recipe& recipe, Faults& faults) {
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        const StageContext context = stage_context(recipe, i);
        const std::string& agent = context.base.agent;
        if (agent != "docker" && agent != "debootstrap") {
            faults.add(recipe.fault_at(
                context.prefix + "base",
                problem("dockerfile-base", "a Dockerfile cannot begin with this base"),
                "'FROM' accepts images of registries",
                "name an image as `docker://…`, or render `--as def`"));
        }
    }
    if (!recipe.apps.empty()) {
        faults.add(recipe.fault_at("apps",
                                   problem("dockerfile-apps", "a Dockerfile has no apps"),
                                   "SCIF apps are sections of definition files",
                                   "render `--as def`, or leave them out"));
    }
}

std::string dockerfile_stage(const Recipe& recipe,
                             const StageContext& context,
                             const Stage& stage,
                             const std::string& test) {
    const std::string name = stage.name();
    std::string text = "FROM " + context.base.from + (name.empty() ? "" : " AS " + name) + "\n";
    for (const auto& section : stage.sections) {
        if (section.name == "post") {
            text += run(section.text);
        } else if (section.name == "files") {
            text += dockerfile_copies(section);
        }
    }
    if (!context.is_last) {
        return text;
    }
    text += environment_lines(environment_of(context));
    text += test.empty() ? "" : run("(\n" + test + ")\n");
    for (const auto& [label, value] : recipe.labels) {
        text += "LABEL " + docker_quoted(label) + "=" + docker_quoted(value) + "\n";
    }
    return text + entry_point(recipe);
}

} // namespace

Result<std::string> render_dockerfile(const Recipe& recipe, const RenderOptions& options) {
    CYBELE_TRY(const Rendered rendered, render_definition(recipe, options));
    Faults faults;
    refuse_for_dockerfile(recipe, faults);
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    const auto& stages = rendered.definition.stages;
    Recipe labelled = recipe;
    labelled.labels = rendered.labels;
    std::string text = "# syntax=docker/dockerfile:1\n";
    // a stage that is generated for the probe comes before the Recipe's own
    const std::size_t generated = stages.size() - recipe.stages.size() - 1;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const bool is_last = i + 1 == stages.size();
        StageContext context = stage_context(
            recipe, i < generated ? recipe.stages.size() : i - generated, options.lock);
        context.is_last = is_last;
        text +=
            (i == 0 ? "" : "\n") +
            dockerfile_stage(labelled, context, stages[i], is_last ? stages[i].joined("test") : "");
    }
    return text;
}

} // namespace cybele::recipes
