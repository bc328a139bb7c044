// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/lock.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/mpi/mpi.hpp"
#include "recipes/packages/packages.hpp"
#include "recipes/packages/tests.hpp"
#include "recipes/render/render_check.hpp"
#include "recipes/render/render_stage.hpp"
#include "recipes/stage/render_text.hpp"
#include "recipes/tables/tables.hpp"
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

std::optional<MpiRow> stage_mpi(const StageContext& context) {
    return mpi_row_of(mpi_of(*context.recipe, *context.fields), context.base.row);
}

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
std::size_t probe_stage_index(const Recipe& recipe, const StageContext& last) {
    for (std::size_t i = 0; i < recipe.stages.size(); ++i) {
        const StageContext own = stage_context(recipe, i);
        if (own.base.row == last.base.row && own.base.agent == last.base.agent &&
            mpi_of(recipe, recipe.stages[i]).family == recipe.mpi.family) {
            return i;
        }
    }
    return recipe.stages.size();
}

/// "docker.io" names are left as they are written; a digest goes into a label of its own.
void add_base_labels(const StageBase& base, std::map<std::string, std::string>& labels) {
    if (base.agent == "localimage" || base.agent == "debootstrap") {
        return;
    }
    const auto at = base.from.find('@');
    labels.try_emplace("org.opencontainers.image.base.name", base.from.substr(0, at));
    if (at != std::string::npos) {
        labels.try_emplace("org.opencontainers.image.base.digest", base.from.substr(at + 1));
    }
}

std::map<std::string, std::string> labels_of(const StageContext& context, const MpiRow* mpi) {
    const Recipe& recipe = *context.recipe;
    std::map<std::string, std::string> labels = recipe.labels;
    labels.try_emplace("org.opencontainers.image.title", recipe.name);
    labels.try_emplace("org.opencontainers.image.version", recipe.version);
    if (!recipe.help.empty() && recipe.help.find('\n') == std::string::npos) {
        labels.try_emplace("org.opencontainers.image.description", recipe.help);
    }
    add_base_labels(context.base, labels);
    labels["cybelectl.recipe"] = "sha256:" + recipe.digest;
    if (context.base.row != nullptr && !context.base.row->libc.empty()) {
        labels["cybelectl.libc"] = context.base.row->libc;
    }
    if (mpi != nullptr) {
        labels["cybelectl.mpi"] = std::string(mpi->family) + " " + std::string(mpi->version);
        for (const auto& [name, value] :
             {std::pair{"cybelectl.pmi", mpi->pmi}, {"cybelectl.mpi-prefix", mpi->prefix}}) {
            if (!value.empty()) {
                labels[name] = value;
            }
        }
        labels["cybelectl.mpi-probe"] = kProbePath;
    }
    return labels;
}

std::string test_script(const StageContext& context, const MpiRow* mpi) {
    const Recipe& recipe = *context.recipe;
    std::string lines;
    if (mpi != nullptr) {
        lines += "if ldd " + std::string(kProbePath) +
                 " | grep 'not found' >&2; then\n    exit 1\n"
                 "fi\n" +
                 (recipe.mpi.from == "source" ? mpi_test_lines(*mpi) : std::string{});
    }
    lines += test_lines(context);
    lines += script_text(recipe.test, recipe.args);
    return lines.empty() ? lines : "set -eu\n" + lines;
}

/// The Recipe and its Lock, in the image: what it was made from.
std::string embedding_lines(const StageContext& context) {
    std::string lines = "mkdir -p /opt/cybelectl\n" +
                        write_file_lines("/opt/cybelectl/recipe.yaml", context.recipe->text);
    if (context.lock != nullptr) {
        lines += write_file_lines("/opt/cybelectl/recipe.lock.yaml",
                                  print_lock(*context.recipe, {*context.lock}));
    }
    return isolated(lines);
}

Stage final_stage(const StageContext& context,
                  const std::string& mirror,
                  const MpiRow* mpi,
                  const std::string& probe_stage) {
    const Recipe& recipe = *context.recipe;
    Stage stage;
    stage.header = header_of(context.base, mirror);
    const bool has_stages = !recipe.stages.empty() || mpi != nullptr;
    if (has_stages) {
        stage.header.emplace_back("stage", kFinalStage);
    }
    const std::vector<std::string> more =
        mpi != nullptr ? words_of(mpi->run) : std::vector<std::string>{};
    add_packages(stage, context, more);
    if (mpi != nullptr) {
        add_section(stage,
                    "files",
                    "from " + probe_stage,
                    "    " + std::string(kProbePath) + " " + std::string(kProbePath) + "\n");
    }
    add_content(stage, context);
    add_section(stage, "post", {}, embedding_lines(context));
    add_section(stage, "environment", {}, export_lines(environment_of(context)));
    add_section(stage, "runscript", {}, run_lines(recipe.run_argv, recipe.run_script, recipe.args));
    add_section(stage, "test", {}, test_script(context, mpi));
    if (const auto test = recipe.marks.find("test");
        test != recipe.marks.end() && test->second.file == 0 && !recipe.test.empty()) {
        stage.sections.back().line = test->second.line;
    }
    add_section(stage, "labels", {}, label_lines(labels_of(context, mpi)));
    add_section(stage, "help", {}, help_lines(context, mpi));
    add_apps(stage, recipe);
    return stage;
}

Stage earlier_stage(const StageContext& context, const std::string& mirror, bool has_probe) {
    Stage stage;
    const auto mpi = stage_mpi(context);
    stage.header = header_of(context.base, mirror);
    stage.header.emplace_back("stage", static_cast<const RecipeStage*>(context.fields)->name);
    add_packages(stage, context, mpi ? words_of(mpi->devel) : std::vector<std::string>{});
    if (has_probe && mpi) {
        stage.sections.push_back(probe_section(*mpi));
    }
    add_content(stage, context);
    return stage;
}

Stage probe_only_stage(const StageContext& context, const std::string& mirror, const MpiRow& mpi) {
    Stage stage;
    stage.header = header_of(context.base, mirror);
    stage.header.emplace_back("stage", kProbeStage);
    const StageFields nothing;
    StageContext own = context;
    own.fields = &nothing;
    add_packages(stage, own, words_of(mpi.devel));
    stage.sections.push_back(probe_section(mpi));
    return stage;
}

} // namespace

Result<Rendered> render_definition(const Recipe& recipe, const std::string& mirror) {
    RenderOptions options;
    options.mirror = mirror;
    return render_definition(recipe, options);
}

Result<Rendered> render_definition(const Recipe& asked, const RenderOptions& options) {
    Faults faults;
    const Recipe recipe = lower_mpi(asked, faults);
    check_renderable(recipe, options, faults);
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    const StageContext last = stage_context(recipe, recipe.stages.size(), options.lock);
    const auto row = stage_mpi(last);
    const MpiRow* mpi = row ? &*row : nullptr;
    Rendered rendered;
    const std::size_t index =
        mpi != nullptr ? probe_stage_index(recipe, last) : recipe.stages.size();
    std::string probe_stage(kProbeStage);
    if (mpi != nullptr && index == recipe.stages.size()) {
        rendered.definition.stages.push_back(probe_only_stage(last, options.mirror, *mpi));
    } else if (mpi != nullptr) {
        probe_stage = recipe.stages[index].name;
    }
    for (std::size_t i = 0; i < recipe.stages.size(); ++i) {
        rendered.definition.stages.push_back(earlier_stage(
            stage_context(recipe, i, options.lock), options.mirror, mpi != nullptr && i == index));
    }
    rendered.definition.stages.push_back(final_stage(last, options.mirror, mpi, probe_stage));
    rendered.labels = labels_of(last, mpi);
    rendered.definition.text = definitions::print_definition(rendered.definition);
    return rendered;
}

} // namespace cybele::recipes
