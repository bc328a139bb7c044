// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/lines.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/packages/packages.hpp"

namespace cybele::recipes {
namespace {

using definitions::Section;
using definitions::Stage;

/// Copies like `%files`: links are followed, a folder that exists is copied into.
std::string script_copies(const Section& section) {
    const bool is_stage = !definitions::files_origin(section).stage.empty();
    std::string lines;
    for (const auto& file : definitions::file_lines(section)) {
        const std::string& to = file.destination.empty() ? file.source : file.destination;
        if (is_stage && file.source == to) {
            continue; // the stage was built in the same place
        }
        const bool is_relative = !is_stage && !file.source.starts_with('/');
        const auto slash = to.rfind('/');
        lines += "mkdir -p " + definition_quote(to.substr(0, slash == 0 ? 1 : slash)) +
                 "\ncp -fLr " + (is_relative ? "\"$cybelectl_from\"/" : "") +
                 pattern_quote(file.source) + " " + definition_quote(to) + "\n";
    }
    return lines;
}

/// The script stops on another distribution: its packages have other names.
std::string release_lines(const DistributionRow& row) {
    const std::string wanted = std::string(row.name()) + ":" + std::string(row.version());
    const bool is_major = row.column.starts_with("el"); // their VERSION_ID has a minor number
    return "cybelectl_release=$(. /etc/os-release && echo \"$ID:" +
           std::string(is_major ? "${VERSION_ID%%.*}" : "${VERSION_ID:-sid}") +
           "\")\n"
           "if [ \"$cybelectl_release\" != " +
           definition_quote(wanted) + " ]; then\n    echo \"this script is for " + wanted +
           ", not $cybelectl_release\" >&2\n    exit 1\nfi\n";
}

void refuse_for_script(const Recipe& recipe, Faults& faults) {
    const StageContext last = stage_context(recipe, recipe.stages.size());
    if (last.base.row == nullptr) {
        faults.add(recipe.fault_at("base",
                                   "a script needs to know the distribution",
                                   "it runs on a machine that has it",
                                   "name a distribution as base"));
    }
    for (std::size_t i = 0; i < recipe.stages.size(); ++i) {
        const StageContext context = stage_context(recipe, i);
        if (context.base.row != last.base.row) {
            faults.add(recipe.fault_at(context.prefix + "base",
                                       "a script has one base",
                                       "all stages run on the same machine",
                                       "use the same base, or render `--as dockerfile`"));
        }
    }
    if (!recipe.apps.empty()) {
        faults.add(recipe.fault_at("apps",
                                   "a script has no apps",
                                   "SCIF apps are sections of definition files",
                                   "render `--as def`, or leave them out"));
    }
}

std::string script_stage(const Stage& stage) {
    std::string text;
    for (const auto& section : stage.sections) {
        if (section.name == "post") {
            text += section.text;
        } else if (section.name == "files") {
            text += script_copies(section);
        }
    }
    return text;
}

} // namespace

Result<std::string> render_script(const Recipe& recipe, const RenderOptions& options) {
    CYBELE_TRY(const Rendered rendered, render_definition(recipe, options));
    Faults faults;
    refuse_for_script(recipe, faults);
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    const StageContext last = stage_context(recipe, recipe.stages.size(), options.lock);
    std::string text = "#!/bin/sh\n# shellcheck disable=SC2030,SC2031,SC2089,SC2090\n# Installs " +
                       recipe.name + " " + recipe.version +
                       ", as root. The first word is the folder that relative files lie in.\n"
                       "set -eu\numask 022\ncybelectl_from=${1:-.}\n"
                       "cybelectl_from=$(cd \"$cybelectl_from\" && pwd)\nexport cybelectl_from\n" +
                       release_lines(*last.base.row);
    for (const auto& stage : rendered.definition.stages) {
        const std::string name = stage.name();
        text += "\n# stage " + (name.empty() ? std::string("of the image") : name) + "\n" +
                script_stage(stage);
    }
    const Stage& image = rendered.definition.stages.back();
    const std::string environment = image.joined("environment");
    if (!environment.empty()) {
        text += "\n# environment, at each login\n" +
                write_file_lines("/etc/profile.d/" + recipe.name + ".sh", environment);
    }
    const std::string runs = image.joined("runscript");
    if (!runs.empty()) {
        const std::string path = "/usr/local/bin/" + recipe.name;
        text += "\n# what `run` says\nmkdir -p /usr/local/bin\n" +
                write_file_lines(path, "#!/bin/sh\n" + environment + runs) + "chmod 755 " +
                definition_quote(path) + "\n";
    }
    if (const std::string test = image.joined("test"); !test.empty()) {
        text += "\n# test\n(\n" + environment + test + ")\n";
    }
    return text;
}

} // namespace cybele::recipes
