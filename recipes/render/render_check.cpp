// SPDX-License-Identifier: Apache-2.0
#include "recipes/render/render_check.hpp"

#include "definitions/grammar/dialect.hpp"
#include "definitions/grammar/grammar.hpp"
#include "recipes/mpi/mpi.hpp"
#include "recipes/packages/packages.hpp"
#include "recipes/render/render_stage.hpp"
#include "recipes/stage/render_text.hpp"
#include "recipes/tables/tables.hpp"

#include <fmt/format.h>

namespace cybele::recipes {
namespace {

/// Apptainer refuses a section of 64 KiB; room is left for what is written around a step.
constexpr std::size_t kLongestStep = 40'000;

class RenderCheck {
public:
    RenderCheck(const Recipe& recipe, Faults& faults) : recipe_(recipe), faults_(faults) {}

    void mpi(const StageContext& context) {
        const RecipeMpi& mpi = context.fields->mpi;
        if (mpi.host && mpi.host->is_unread()) {
            faults_.add(recipe_.fault_at(
                context.prefix + "mpi.host",
                problem("site-not-read", "the Site that `mpi.host` names was not read"),
                "a Recipe alone reads no Site",
                "write `host: {family: …, version: …}`"));
        }
        check_mpi(recipe_, context, faults_);
        if (context.is_last) {
            check_host(recipe_, context, faults_);
        }
    }

    void stage(const StageContext& context, Checksums checksums) {
        const StageFields& fields = *context.fields;
        check_packages(context, checksums, faults_);
        mpi(context);
        for (std::size_t i = 0; i < fields.files.size(); ++i) {
            file(fields.files[i], context.prefix + "files[" + std::to_string(i) + "]");
        }
        steps(fields.steps, context.prefix + "steps");
    }

    void apps() {
        for (const auto& [name, app] : recipe_.apps) {
            const std::string path = "apps." + name;
            payload(path + ".run", app.run_script);
            payload(path + ".test", app.test);
            payload(path + ".help", app.help);
            steps(app.steps, path + ".steps");
            for (const auto& [label, value] : app.labels) {
                payload(fmt::format("{}.labels.{}", path, label), "x " + value);
            }
            for (std::size_t i = 0; i < app.files.size(); ++i) {
                const std::string at = path + ".files[" + std::to_string(i) + "]";
                file(app.files[i], at);
                if (!app.files[i].stage.empty()) {
                    fault(at + ".stage",
                          problem("app-file-from-stage", "an app cannot copy files from a stage"),
                          "'%appfiles' copies from the host alone",
                          "copy them with the Recipe's `files` to /scif/apps/" + name);
                }
            }
        }
    }

    /// What the dialect lacks; stages are all that cannot be lowered.
    void dialect(const RenderOptions& options, std::size_t stages) {
        const definitions::Dialect& dialect = options.dialect;
        const auto lacks = [&](definitions::Feature feature) {
            return !definitions::has(dialect, feature);
        };
        const auto since = [](definitions::Feature feature) {
            return "it is there from " + definitions::feature_row(feature).since.describe() + " on";
        };
        if (stages > 1 && lacks(definitions::Feature::kStages)) {
            fault(recipe_.stages.empty() ? "mpi" : "stages",
                  problem("dialect-without-stages", dialect.name() + " has no stages"),
                  since(definitions::Feature::kStages),
                  "choose a newer dialect");
        }
        if (options.mirror.empty() && needs_mirror() && lacks(definitions::Feature::kTemplates)) {
            faults_.add(
                Error(ErrorCode::kUsage,
                      problem("dialect-without-mirror", dialect.name() + " has no `{{ mirror }}`"),
                      since(definitions::Feature::kTemplates),
                      "give the mirror's address with --mirror"));
        }
        for (std::size_t i = 0; i <= recipe_.stages.size(); ++i) {
            const StageContext context = stage_context(recipe_, i);
            if (!context.base.agent.empty() &&
                !definitions::is_agent(context.base.agent, dialect)) {
                fault(context.prefix + "base",
                      problem("dialect-without-agent",
                              dialect.name() + " has no bootstrap agent '" + context.base.agent +
                                  "'"),
                      "a definition file names the agent that makes the base",
                      "choose a newer dialect or another base");
            }
        }
    }

    void top(const std::string& mirror) {
        payload("run", recipe_.run_script);
        payload("test", recipe_.test);
        payload("help", recipe_.help);
        for (const auto& [name, value] : recipe_.labels) {
            payload("labels." + name, "x " + value);
        }
        if (mirror.find_first_of(" #\\\n\r\t'\"") != std::string::npos) {
            faults_.add(Error(ErrorCode::kUsage,
                              problem("mirror-address",
                                      "the mirror's address '" + mirror + "' cannot be written"),
                              "a definition file's header ends a value at `#`, and an address has "
                              "no blanks",
                              "give an address without them"));
        }
        apps();
        for (const auto& [name, value] : recipe_.args) {
            if (name == "path" || name == "home" || name == "ifs") {
                fault("args." + name,
                      problem("argument-shell-variable",
                              "an argument '" + name + "' would change the shell of each step"),
                      "steps see it as a variable in capitals",
                      "rename it");
            }
        }
    }

private:
    [[nodiscard]] bool needs_mirror() const {
        for (std::size_t i = 0; i <= recipe_.stages.size(); ++i) {
            if (stage_context(recipe_, i).base.agent == "debootstrap") {
                return true;
            }
        }
        return false;
    }

    void steps(const std::vector<Step>& list, const std::string& path) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i].run.size() > kLongestStep) {
                fault(path + "[" + std::to_string(i) + "]",
                      problem("step-too-long", "the step is longer than 40000 bytes"),
                      "a definition file's section ends at 65536",
                      "put it into a file, copy that with `files` and run it");
            }
        }
    }

    void file(const FileCopy& file, const std::string& path) {
        for (const auto& [field, text] : {std::pair{".from", file.from}, {".to", file.to}}) {
            if (text.find_first_of("\"\\$`{}") != std::string::npos || text.starts_with('~') ||
                text.starts_with('%')) {
                fault(path + field,
                      problem("path-not-expressible", "a build cannot copy this path"),
                      "it is written into `%files`, where quotes, `\\`, `$`, braces and `~` in a "
                      "name "
                      "mean something else",
                      "rename the file, or copy the folder that it is in");
            }
        }
        if (!file.mode.empty() && file.from.find_first_of("*?[") != std::string::npos) {
            fault(path + ".mode",
                  problem("mode-with-pattern", "'mode' with a pattern"),
                  "it is set on one file or folder",
                  "name the file, or set the modes in a step");
        }
    }

    void payload(const std::string& path, const std::string& text) {
        if (!is_plain_payload(text)) {
            fault(
                path,
                problem("text-not-expressible", "a definition file cannot carry this text"),
                "its parser interprets lines that begin with `%` or `Bootstrap:`, and `{{ name }}`",
                "put the text into a file, copy that with `files` and use it");
        }
    }

    void not_yet(const std::string& path, const std::string& what, std::string help) {
        fault(path,
              problem("recipe-field-unsupported", "not supported yet: " + what),
              "this version reads and checks '" + path + "', but cannot build it",
              std::move(help));
    }

    void fault(const std::string& path, Problem problem, std::string because, std::string help) {
        faults_.add(
            recipe_.fault_at(path, std::move(problem), std::move(because), std::move(help)));
    }

    const Recipe& recipe_;
    Faults& faults_;
};

} // namespace

void check_renderable(const Recipe& recipe, const RenderOptions& options, Faults& faults) {
    for (const Fault& fault : recipe.not_yet) {
        faults.add(fault);
    }
    RenderCheck check(recipe, faults);
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        check.stage(stage_context(recipe, i, options.lock),
                    options.may_be_unverified ? Checksums::kOptional : Checksums::kRequired);
    }
    check.top(options.mirror);
    const bool has_probe_stage = !recipe.mpi.family.empty();
    check.dialect(options, recipe.stages.size() + (has_probe_stage ? 2 : 1));
}

} // namespace cybele::recipes
