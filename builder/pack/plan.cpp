// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/plan.hpp"

#include "builder/bases/agents.hpp"
#include "builder/bases/header.hpp"
#include "builder/bases/image_base.hpp"
#include "builder/files/output.hpp"
#include "builder/pack/stage_metadata.hpp"
#include "builder/steps/host_script.hpp"
#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/lines.hpp"
#include "definitions/grammar/scan.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;
using definitions::FilesOrigin;
using definitions::Section;
using definitions::Stage;

class Planner {
public:
    Planner(const BuildRequest& request, const Environment& environment)
        : request_(request), environment_(environment) {}

    [[nodiscard]] Result<BuildPlan> make();

private:
    [[nodiscard]] Result<void> open_context();
    void plan_stage(const Stage& stage);
    void plan_agent(const Stage& stage, StagePlan& plan);
    void check_sections(const Stage& stage);
    void plan_copies(const std::vector<definitions::FileLine>& lines, Step& step);
    void plan_files(const Stage& stage, StagePlan& plan, FilesOrigin::Kind kind);
    void refuse_later_stage(const Section& section, const std::string& name);
    void plan_scripts(const Stage& stage, StagePlan& plan);
    void plan_setup(const Stage& stage, StagePlan& plan);
    void plan_apps(const Stage& stage, StagePlan& plan);
    static void plan_installations(StagePlan& plan);
    [[nodiscard]] std::optional<std::size_t> stage_named(const std::string& name) const;
    void refuse(std::size_t line, const std::string& text, Fault fault);
    void tell(const std::string& text) const {
        request_.reporter.tell(text);
    }

    const BuildRequest& request_;
    const Environment& environment_;
    std::shared_ptr<ContextFiles> context_;
    bool may_make_sources_ = false; ///< a %pre or %setup so far, which can write to this machine
    BuildPlan plan_;
    Faults faults_;
};

std::string section_line(const Section& section) {
    return "%" + section.name + (section.arguments.empty() ? "" : " " + section.arguments);
}

void Planner::refuse(std::size_t line, const std::string& text, Fault fault) {
    if (line > 0) {
        fault.where = definitions::fault_at(request_.source.file.native(), line, text).where;
    }
    faults_.add(std::move(fault));
}

std::optional<std::size_t> Planner::stage_named(const std::string& name) const {
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
        if (plan_.stages[i].stage->name() == name) {
            return i;
        }
    }
    return std::nullopt;
}

void Planner::plan_agent(const Stage& stage, StagePlan& plan) {
    plan.agent = stage.header_value("bootstrap");
    const Agent* const agent = find_agent(plan.agent);
    if (agent == nullptr) {
        std::string known;
        for (const Agent& one : agents()) {
            known += (known.empty() ? "" : &one == &agents().back() ? " and " : ", ");
            known += one.name;
        }
        Fault fault;
        fault.code = ErrorCode::kInput;
        fault.set(problem(
            "bootstrap-agent-unsupported",
            fmt::format("the bootstrap agent '{}' is not supported yet", printable(plan.agent)),
            plan.agent));
        fault.because = "the embedded builder knows " + known;
        fault.help = "use one of these, or build with --builder apptainer";
        if (auto gone = refused_agent(plan.agent)) {
            fault = std::move(*gone);
        }
        refuse(stage.line, "Bootstrap: " + plan.agent, std::move(fault));
        return;
    }
    for (const std::string& line :
         check_header_keys(stage, request_.source.file.native(), faults_)) {
        tell(line);
    }
    const auto more = agent->plan(plan, request_);
    if (!more) {
        faults_.add(more.error());
        return;
    }
    plan_.needed_bytes += agent->needed_bytes + *more;
}

void Planner::check_sections(const Stage& stage) {
    for (const Section& section : stage.sections) {
        if ((section.name == "pre" || section.name == "setup") && has_command(section.text)) {
            tell(fmt::format("warning: line {}: '%{}' runs on this machine{}; with other tools or "
                             "files it gives another image",
                             section.line,
                             section.name,
                             ::geteuid() != 0 ? ", and can write only to the image" : ""));
        } else if (section.name == "files" &&
                   definitions::files_origin(section).kind == FilesOrigin::Kind::kSkipped) {
            tell(fmt::format("warning: line {}: '{}' is skipped, like in Apptainer: it is "
                             "neither '%files' nor '%files from STAGE'",
                             section.line,
                             section_line(section)));
        }
    }
}

Result<std::shared_ptr<ContextFiles>> list_context(const BuildRequest& request,
                                                   const Environment& environment) {
    using Rules = BuildContext::Rules;
    CYBELE_TRY(
        auto context,
        BuildContext::open(request.source.has_context_rules ? Rules::kRecipe : Rules::kDefinition,
                           request.source.directory,
                           request.output));
    return std::make_shared<ContextFiles>(
        std::move(context),
        std::nullopt,
        ContextFiles::Reads::kAll,
        registry::KnownFiles::open(environment.cache_directory(), request.use_cache));
}

/// What the lines copy now, though the files were others when the build began.
Result<std::vector<Copy>> find_copies(const BuildRequest& request,
                                      const Environment& environment,
                                      const std::vector<definitions::FileLine>& lines,
                                      const CopyFrom& host) {
    CYBELE_TRY(const auto context, list_context(request, environment));
    std::vector<Copy> copies;
    for (const definitions::FileLine& line : lines) {
        CYBELE_TRY(Copy copy,
                   find_sources(line, host, environment.all(), request.source.file.native()));
        copy.listing = context->list(copy);
        copies.push_back(std::move(copy));
    }
    return copies;
}

/// The files of the host.
void Planner::plan_copies(const std::vector<definitions::FileLine>& lines, Step& step) {
    const CopyFrom host{"/", absolute_path(request_.source.directory), false};
    if (may_make_sources_) {
        step.find_copies = [&request = request_, &environment = environment_, lines, host]() {
            return find_copies(request, environment, lines, host);
        };
        return;
    }
    for (const definitions::FileLine& line : lines) {
        auto copy = find_sources(line, host, environment_.all(), request_.source.file);
        if (copy) {
            copy->listing = context_->list(*copy);
            step.copies.push_back(std::move(*copy));
        } else {
            faults_.add(copy.error());
        }
    }
}

void Planner::refuse_later_stage(const Section& section, const std::string& name) {
    refuse(section.line,
           section_line(section),
           Fault(ErrorCode::kInput,
                 problem("files-from-later-stage",
                         "stage '" + printable(name) + "' is built after this one"),
                 "stages are built in the order of the file, and can copy from earlier ones",
                 "move the stage that provides the files to the front"));
}

void Planner::plan_files(const Stage& stage, StagePlan& plan, FilesOrigin::Kind kind) {
    for (const Section& section : stage.sections) {
        if (section.name != "files") {
            continue;
        }
        const FilesOrigin origin = definitions::files_origin(section);
        if (origin.kind != kind || definitions::file_lines(section).empty()) {
            continue;
        }
        Step step;
        step.section = &section;
        step.name = section_line(section);
        if (kind == FilesOrigin::Kind::kStage) {
            step.kind = Step::Kind::kStageCopy;
            const auto earlier = stage_named(origin.stage);
            if (!earlier && origin.stage != stage.name()) {
                refuse_later_stage(section, origin.stage);
                continue;
            }
            step.from_stage = earlier.value_or(plan_.stages.size()); // else its own files
            plan.steps.push_back(std::move(step));
            continue;
        }
        step.kind = Step::Kind::kCopy;
        plan_copies(definitions::file_lines(section), step);
        plan.steps.push_back(std::move(step));
    }
}

void Planner::plan_setup(const Stage& stage, StagePlan& plan) {
    for (const Section& section : stage.sections) {
        if (section.name == "setup" && has_command(stage.joined("setup"))) {
            Step step;
            step.kind = Step::Kind::kHostScript;
            step.section = &section;
            step.name = "%setup";
            step.text = stage.joined("setup");
            step.arguments = arguments_of(stage, "setup");
            plan.steps.push_back(std::move(step));
            return;
        }
    }
}

/// Sections that stand for themselves run apart; neighbouring others are joined, and the arguments
/// of the last one that has some hold for all, as in Apptainer.
void Planner::plan_scripts(const Stage& stage, StagePlan& plan) {
    const std::size_t first = plan.steps.size();
    bool joins = false;
    for (const Section& section : stage.sections) {
        if (section.name != "post") {
            continue;
        }
        if (joins && !section.is_self_contained) {
            plan.steps.back().text += section.text;
            if (!section.arguments.empty()) {
                plan.steps.back().arguments = section.arguments;
            }
            continue;
        }
        Step step;
        step.section = &section;
        step.text = section.text;
        step.arguments = section.arguments;
        joins = !section.is_self_contained;
        plan.steps.push_back(std::move(step));
    }
    const std::size_t count = plan.steps.size() - first;
    for (std::size_t i = 0; i < count; ++i) {
        plan.steps[first + i].name =
            count == 1 ? "%post" : fmt::format("%post {} of {}", i + 1, count);
    }
}

void Planner::plan_apps(const Stage& stage, StagePlan& plan) {
    auto apps = find_apps(stage, request_.source.file.native());
    if (!apps) {
        faults_.add(apps.error());
        return;
    }
    if (apps->empty()) {
        return;
    }
    Step step;
    step.kind = Step::Kind::kApps;
    step.section = apps->front().sections.begin()->second;
    step.name = "applications";
    step.text = app_texts(*apps);
    plan_copies(app_files(*apps), step);
    step.apps = std::move(*apps);
    plan.steps.push_back(std::move(step));
}

/// They belong to %post, in Apptainer; behind one that stands for itself they are a step.
void Planner::plan_installations(StagePlan& plan) {
    const auto apps = std::ranges::find(plan.steps, Step::Kind::kApps, &Step::kind);
    if (apps == plan.steps.end()) {
        return;
    }
    const std::string script = install_script(apps->apps);
    Step& last = plan.steps.back();
    if (last.kind == Step::Kind::kScript && !last.section->is_self_contained) {
        last.text += script;
        return;
    }
    Step step;
    step.section = apps->section;
    step.text = script;
    step.name = "%appinstall";
    plan.steps.push_back(std::move(step));
}

/// A generator that puts a self-contained %post before the first %files says that it needs none of
/// them: it runs first, so that other files do not cost its kept result.
void run_independent_scripts_first(const Stage& stage, StagePlan& plan) {
    const auto files = std::ranges::find_if(stage.sections, [](const Section& section) {
        return section.name == "files" || section.name == "setup";
    });
    std::stable_partition(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
        return step.kind == Step::Kind::kScript && step.section->is_self_contained &&
               std::any_of(stage.sections.begin(), files, [&](const Section& section) {
                   return &section == step.section;
               });
    });
}

void Planner::plan_stage(const Stage& stage) {
    StagePlan plan;
    plan.is_users = ::geteuid() != 0;
    plan.stage = &stage;
    plan_agent(stage, plan);
    check_sections(stage);
    may_make_sources_ =
        may_make_sources_ ||
        (!plan.is_users && has_command(stage.joined("pre") + stage.joined("setup")));
    plan_apps(stage, plan);
    plan_files(stage, plan, FilesOrigin::Kind::kStage);
    plan_setup(stage, plan);
    plan_files(stage, plan, FilesOrigin::Kind::kHost);
    plan_scripts(stage, plan);
    plan_installations(plan);
    run_independent_scripts_first(stage, plan);
    plan_.stages.push_back(std::move(plan));
}

Result<void> Planner::open_context() {
    context_ = request_.source.context;
    if (!context_) {
        CYBELE_TRY(context_, list_context(request_, environment_));
    }
    return {};
}

Result<BuildPlan> Planner::make() {
    CYBELE_CHECK(open_context());
    for (const Stage& stage : request_.source.definition.stages) {
        plan_stage(stage);
    }
    if (faults_.has_errors()) {
        return fail(faults_.take());
    }
    context_->known().save();
    return std::move(plan_);
}

} // namespace

bool has_agent(std::string_view name) {
    return find_agent(name) != nullptr;
}

Result<BuildPlan> make_plan(const BuildRequest& request, const Environment& environment) {
    return Planner(request, environment).make();
}

} // namespace cybele::builder
