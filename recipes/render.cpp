// SPDX-License-Identifier: Apache-2.0
#include "recipes/recipe.hpp"
#include "recipes/render_check.hpp"
#include "recipes/render_stage.hpp"
#include "recipes/render_text.hpp"
#include "recipes/tables.hpp"
#include "support/embedded.hpp"

#include <span>

namespace cybele::embedded {
std::span<const EmbeddedFile> recipe_files();
}

namespace cybele::recipes {
namespace {

using definitions::Definition;
using definitions::Section;
using definitions::Stage;

constexpr std::string_view kProbePath = "/opt/cybelectl/bin/mpi-probe";
constexpr std::string_view kProbeSource = "/opt/cybelectl/src/mpi-probe.c";

std::string_view probe_source() {
    for (const auto& file : embedded::recipe_files()) {
        if (file.name == "probe/mpi-probe.c") {
            return file.bytes;
        }
    }
    return {};
}

/// Compiles the guard's probe. It needs the packages only, so its result is kept with theirs.
Section probe_section(const MpiRow& mpi) {
    std::string lines = "mkdir -p /opt/cybelectl/bin /opt/cybelectl/src\n" +
                        write_file_lines(kProbeSource, probe_source());
    lines += std::string(mpi.compiler) + " -O1 -o " + std::string(kProbePath) + " " +
             std::string(kProbeSource) + "\n";
    return post_section(isolated(lines));
}

/// Index of the stage that can compile the probe: the first with the same base and MPI as the
/// image.
std::size_t probe_stage_index(const Recipe& recipe, const Base& base) {
    for (std::size_t i = 0; i < recipe.stages.size(); ++i) {
        const Base& own = base_of(recipe, recipe.stages[i]);
        const RecipeMpi& mpi = mpi_of(recipe, recipe.stages[i]);
        if (own.distribution == base.distribution && own.arch == base.arch &&
            mpi.family == recipe.mpi.family) {
            return i;
        }
    }
    return recipe.stages.size();
}

void add(Stage& stage, std::string name, std::string arguments, std::string text) {
    if (!text.empty()) {
        stage.sections.push_back(
            {std::move(name), std::move(arguments), std::move(text), 0, false});
    }
}

std::string label_lines(const std::map<std::string, std::string>& labels) {
    std::string lines;
    for (const auto& [name, value] : labels) {
        lines += name;
        lines += value.empty() ? "\n" : " " + value + "\n";
    }
    return lines;
}

std::map<std::string, std::string> labels_of(const Recipe& recipe, const MpiRow* mpi) {
    std::map<std::string, std::string> labels = recipe.labels;
    labels.try_emplace("org.opencontainers.image.title", recipe.name);
    labels.try_emplace("org.opencontainers.image.version", recipe.version);
    labels["cybelectl.recipe"] = "sha256:" + recipe.digest;
    if (const auto* distribution = find_distribution(recipe.base->distribution)) {
        labels["cybelectl.libc"] = distribution->libc;
    }
    if (mpi != nullptr) {
        labels["cybelectl.mpi"] = std::string(mpi->family) + " " + std::string(mpi->version);
        labels["cybelectl.pmi"] = mpi->pmi;
        labels["cybelectl.mpi-prefix"] = mpi->prefix;
        labels["cybelectl.mpi-probe"] = kProbePath;
    }
    return labels;
}

std::string runscript(const Recipe& recipe) {
    if (!recipe.run_script.empty()) {
        return "set -eu\n" + recipe.run_script + (recipe.run_script.ends_with('\n') ? "" : "\n");
    }
    if (recipe.run_argv.empty()) {
        return {};
    }
    std::string line = "exec";
    for (const auto& word : recipe.run_argv) {
        line += " " + definition_quote(word);
    }
    return line + " \"$@\"\n";
}

std::string test_script(const Recipe& recipe, const MpiRow* mpi) {
    std::string lines;
    if (mpi != nullptr) {
        lines += "if ldd " + std::string(kProbePath) +
                 " | grep 'not found' >&2; then\n    exit 1\n"
                 "fi\n";
    }
    if (!recipe.test.empty()) {
        lines += recipe.test + (recipe.test.ends_with('\n') ? "" : "\n");
    }
    return lines.empty() ? lines : "set -eu\n" + lines;
}

Stage final_stage(const Recipe& recipe,
                  const std::string& mirror,
                  const MpiRow* mpi,
                  const std::string& probe_stage) {
    Stage stage;
    stage.header = header_of(*recipe.base, mirror);
    const bool has_stages = !recipe.stages.empty() || mpi != nullptr;
    if (has_stages) {
        stage.header.emplace_back("stage", kFinalStage);
    }
    const std::vector<std::string> more =
        mpi != nullptr ? words_of(mpi->run) : std::vector<std::string>{};
    add_packages(stage, recipe, *recipe.base, more);
    if (mpi != nullptr) {
        add(stage,
            "files",
            "from " + probe_stage,
            "    " + std::string(kProbePath) + " " + std::string(kProbePath) + "\n");
    }
    add_content(stage, recipe, recipe.args);
    add(stage, "environment", {}, export_lines(recipe.environment));
    add(stage, "runscript", {}, runscript(recipe));
    add(stage, "test", {}, test_script(recipe, mpi));
    add(stage, "labels", {}, label_lines(labels_of(recipe, mpi)));
    add(stage, "help", {}, recipe.help.empty() ? std::string{} : recipe.help + "\n");
    return stage;
}

Stage earlier_stage(const Recipe& recipe,
                    const RecipeStage& fields,
                    const std::string& mirror,
                    bool has_probe) {
    Stage stage;
    const Base& base = base_of(recipe, fields);
    const MpiRow* mpi = find_mpi(base.distribution, mpi_of(recipe, fields).family);
    stage.header = header_of(base, mirror);
    stage.header.emplace_back("stage", fields.name);
    add_packages(
        stage, fields, base, mpi != nullptr ? words_of(mpi->devel) : std::vector<std::string>{});
    if (has_probe && mpi != nullptr) {
        stage.sections.push_back(probe_section(*mpi));
    }
    add_content(stage, fields, recipe.args);
    return stage;
}

Stage probe_only_stage(const Recipe& recipe, const std::string& mirror, const MpiRow& mpi) {
    Stage stage;
    stage.header = header_of(*recipe.base, mirror);
    stage.header.emplace_back("stage", kProbeStage);
    add_packages(stage, StageFields{}, *recipe.base, words_of(mpi.devel));
    stage.sections.push_back(probe_section(mpi));
    return stage;
}

} // namespace

Result<Rendered> render_definition(const Recipe& recipe, const std::string& mirror) {
    Faults faults;
    check_renderable(recipe, mirror, faults);
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    const MpiRow* mpi = find_mpi(recipe.base->distribution, recipe.mpi.family);
    Rendered rendered;
    const std::size_t index =
        mpi != nullptr ? probe_stage_index(recipe, *recipe.base) : recipe.stages.size();
    std::string probe_stage(kProbeStage);
    if (mpi != nullptr && index == recipe.stages.size()) {
        rendered.definition.stages.push_back(probe_only_stage(recipe, mirror, *mpi));
    } else if (mpi != nullptr) {
        probe_stage = recipe.stages[index].name;
    }
    for (std::size_t i = 0; i < recipe.stages.size(); ++i) {
        rendered.definition.stages.push_back(
            earlier_stage(recipe, recipe.stages[i], mirror, mpi != nullptr && i == index));
    }
    rendered.definition.stages.push_back(final_stage(recipe, mirror, mpi, probe_stage));
    rendered.labels = labels_of(recipe, mpi);
    rendered.definition.text = definitions::print_definition(rendered.definition);
    return rendered;
}

} // namespace cybele::recipes
