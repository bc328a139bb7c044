// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/stage.hpp"

#include "builder/bases/agents.hpp"
#include "builder/bases/image_base.hpp"
#include "builder/files/output.hpp"
#include "builder/pack/failed_step.hpp"
#include "builder/pack/stage_metadata.hpp"
#include "builder/pack/step_fault.hpp"
#include "builder/pack/writable_test.hpp"
#include "builder/steps/host_script.hpp"
#include "builder/steps/step_log.hpp"
#include "builder/steps/tidy.hpp"
#include "definitions/grammar/lines.hpp"
#include "definitions/grammar/scan.hpp"
#include "images/container/metadata.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;
using definitions::Section;

constexpr std::string_view kStepShelf = "steps";
constexpr std::size_t kShownScriptLines = 20; ///< of what a script of the host printed
constexpr std::uint64_t kStepCacheBytes = std::uint64_t{10} << 30U;

/// Whether a stage's steps are layers.
bool is_layered(const StageContext& context, std::size_t stage) {
    return context.request.use_cache && !context.keys[stage].base.empty() &&
           !context.way.attributes.empty();
}

class StageBuilder {
public:
    StageBuilder(StageContext& context, const StagePlan& plan)
        : context_(context), plan_(plan), number_(context.roots.size()),
          keys_(context.keys[number_]), host_environment_(context.host_environment),
          root_(context.host_environment.work / fmt::format("stage-{}", number_)) {
        host_environment_.work /= fmt::format("work-{}", number_);
        is_layered_ = is_layered(context, number_);
        const std::string name = context.keys.size() > 1 ? plan.stage->name() : "";
        report_ = name.empty() ? context.report : [&context, name](StepEvent event) {
            event.line.insert(0, printable(name) + ": ");
            event.stage = name;
            context.report(event);
        };
        directory_ = root_;
        if (is_layered_) {
            root_ /= "root";
        }
    }

    [[nodiscard]] Result<void> build();
    [[nodiscard]] const fs::path& root() const {
        return root_;
    }
    [[nodiscard]] std::shared_ptr<Layers> layers() const {
        return layers_;
    }

private:
    [[nodiscard]] Result<void> run_host_script(const std::string& section,
                                               const std::string& text,
                                               const std::string& arguments);
    [[nodiscard]] Result<void> fill_base(const fs::path& root);
    /// For the context of an error: the step and its stage.
    [[nodiscard]] std::string doing(const std::string& what) const {
        const std::string name = printable(plan_.stage->name());
        return what + (name.empty() ? "" : " of stage '" + name + "'");
    }
    [[nodiscard]] FillContext fill_context() const {
        return {context_.request, context_.environment, host_environment_, report_};
    }
    [[nodiscard]] Result<std::vector<Copy>> stage_copies(const Step& step) const;
    [[nodiscard]] Result<void> build_steps();
    [[nodiscard]] Result<void> build_layers();
    [[nodiscard]] Result<std::size_t> add_kept_layers();
    [[nodiscard]] std::optional<fs::path> kept_layer(const std::string& key);
    [[nodiscard]] std::string layer_key(const std::string& key) const {
        return builder::layer_key(key, context_.way.attributes, context_.owners);
    }
    [[nodiscard]] Result<void> run_step(const Step& step);
    [[nodiscard]] Result<void> run_script(const Step& step);
    [[nodiscard]] KeptStep describe(std::size_t step) const;
    [[nodiscard]] bool keep_failed(const Step& step, const ScriptEnd& end) const;
    void keep(const std::string& key, const fs::path& folder, const KeptStep& what);
    [[nodiscard]] Result<void> test();
    [[nodiscard]] Error step_failed(const Section& section,
                                    const std::string& name,
                                    const ScriptEnd& end,
                                    bool is_cached = false) const {
        return step_fault(
            context_.request,
            {section, name, end, root_, is_cached, system_certificates(context_.environment)});
    }
    [[nodiscard]] CopyFrom from_stage(const Step& step) const {
        const bool is_own = step.from_stage == number_;
        return {is_own ? root_ : context_.roots[step.from_stage], "/", true};
    }

    StageContext& context_;
    const StagePlan& plan_;
    std::size_t number_;
    const StageKeys& keys_;
    HostEnvironment host_environment_; ///< with a working folder of this stage's own
    Report report_;                    ///< names the stage where there are several
    fs::path root_;
    fs::path directory_; ///< of the stage: its root, or what holds its layers
    bool is_layered_ = false;
    std::shared_ptr<Layers> layers_;
};

/// %pre and %setup: on the host, in the caller's directory, with the caller's environment; what an
/// ordinary user builds is enclosed.
Result<void> StageBuilder::run_host_script(const std::string& section,
                                           const std::string& text,
                                           const std::string& arguments) {
    if (plan_.is_users) {
        CYBELE_TRY(const ScriptEnd end,
                   run_host_enclosed(root_,
                                     {section, arguments, text},
                                     absolute_path(context_.request.source.directory),
                                     context_.environment.all(),
                                     host_environment_));
        return end.code == 0
                   ? Result<void>()
                   : fail(step_failed(*last_section(*plan_.stage, section), "%" + section, end));
    }
    const fs::path file = host_environment_.work / (section + ".script");
    CYBELE_CHECK(write_file(file, text, 0700));
    Command command;
    CYBELE_TRY(command.argv, script_command(arguments, file.native()));
    EnvironmentMap variables = context_.environment.all();
    add_host_variables(variables, root_);
    command.environment = std::move(variables);
    command.directory = absolute_path(context_.request.source.directory);
    if (host_environment_.output == StepOutput::kStreams) {
        command.output = Command::Stream::kInherit;
    } else if (host_environment_.output == StepOutput::kErrors) {
        command.on_output = [](std::string_view piece) {
            (void)write_all(STDERR_FILENO, piece, "standard error");
        };
    }
    if (host_environment_.output != StepOutput::kKept) {
        command.errors = Command::Stream::kInherit;
    }
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (!outcome.ok()) {
        const ScriptEnd end{outcome.shell_code(),
                            last_lines(outcome.output + outcome.errors, kShownScriptLines),
                            {}};
        return fail(step_failed(*last_section(*plan_.stage, section), "%" + section, end));
    }
    return {};
}

Result<void> StageBuilder::fill_base(const fs::path& root) {
    if (plan_.agent == "localimage") {
        report_({StepEvent::Kind::kUnpack, "unpack " + printable(plan_.source.native())});
    }
    const auto filled = plan_.oci ? unpack_oci(*plan_.oci, root, report_)
                                  : find_agent(plan_.agent)->fill(plan_, root, fill_context());
    CYBELE_CHECK(filled.map_error(during(doing("unpacking the base"))));
    return images::write_base_layout(root,
                                     context_.request.steps.follows_apptainer
                                         ? images::EtcFiles::kOfApptainer
                                         : images::EtcFiles::kAll);
}

Result<std::vector<Copy>> StageBuilder::stage_copies(const Step& step) const {
    std::vector<Copy> copies;
    for (const definitions::FileLine& line : definitions::file_lines(*step.section)) {
        CYBELE_TRY(auto copy,
                   find_sources(line, from_stage(step), {}, context_.request.source.file.native()));
        copies.push_back(std::move(copy));
    }
    return copies;
}

std::optional<fs::path> StageBuilder::kept_layer(const std::string& key) {
    return key.empty() ? std::nullopt : context_.cache.get(kStepShelf, layer_key(key));
}

/// The base and the layers of all steps that are kept, up to the first that is not. Gives the
/// number of that step.
Result<std::size_t> StageBuilder::add_kept_layers() {
    if (const auto base = kept_layer(keys_.base)) {
        CYBELE_CHECK(layers_->add_squashfs(*base));
    } else {
        CYBELE_TRY(const fs::path folder, layers_->add_folder());
        CYBELE_CHECK(fill_base(folder));
        KeptStep what = describe(0);
        what.step = "base " + plan_.agent;
        what.text = plan_.stage->header_value(plan_.agent == "debootstrap" ? "osversion" : "from");
        what.parent.clear();
        what.parts.clear();
        keep(keys_.base, folder, what);
    }
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
        const auto kept = kept_layer(keys_.steps[i].key);
        if (!kept) {
            return i;
        }
        const std::string& name = plan_.steps[i].name;
        report_({StepEvent::Kind::kReused, name + ": reused", name});
        CYBELE_CHECK(layers_->add_squashfs(*kept));
    }
    return plan_.steps.size();
}

KeptStep StageBuilder::describe(std::size_t step) const {
    KeptStep what;
    what.definition = absolute_path(context_.request.source.file).native();
    what.stage = number_;
    if (step >= plan_.steps.size()) {
        return what;
    }
    const std::string& before = step == 0 ? keys_.base : keys_.steps[step - 1].key;
    what.parent = hex(sha256(layer_key(before)));
    what.step = plan_.steps[step].name;
    what.parts = keys_.steps[step].parts;
    const std::string& text = plan_.steps[step].kind == Step::Kind::kScript
                                  ? plan_.steps[step].text
                                  : plan_.steps[step].section->text;
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin != std::string::npos) {
        what.text = text.substr(begin, std::min<std::size_t>(text.find('\n', begin) - begin, 120));
    }
    return what;
}

Result<void> StageBuilder::run_script(const Step& step) {
    if (step.text.find_first_not_of(" \t\r\n") == std::string::npos) {
        return {};
    }
    CYBELE_TRY(
        const ScriptEnd end,
        run_inside(root_, {step.section->name, step.arguments, step.text}, host_environment_));
    if (const std::string packages = end.packages.text();
        !packages.empty() && host_environment_.is_verbose) {
        report_(step.name + ": " + packages);
    }
    if (end.code == 0) {
        return {};
    }
    return fail(step_failed(*step.section, step.name, end, keep_failed(step, end)));
}

/// What the step left, for `build --shell`. Where it cannot be kept, the error stays as it is.
bool StageBuilder::keep_failed(const Step& step, const ScriptEnd& end) const {
    FailedStep failed;
    const auto number = static_cast<std::size_t>(&step - plan_.steps.data());
    failed.kept = describe(number);
    failed.kept.parts.clear();
    failed.code = end.code;
    failed.section = step.section->name;
    failed.state = readable_state(end.state);
    failed.attributes = context_.way.attributes;
    failed.owners = context_.owners;
    fs::path changed = root_;
    if (layers_ && layers_->files().size() == layers_->folders().size()) {
        for (const LayerFile& layer : layers_->files()) {
            failed.layers.push_back(layer.entry);
        }
        changed = layers_->upper();
    }
    return keep_failed_step(context_.cache, failed, changed).has_value();
}

Result<void> StageBuilder::run_step(const Step& step) {
    switch (step.kind) {
    case Step::Kind::kApps:
        CYBELE_CHECK(write_apps(step.apps, root_));
        [[fallthrough]];
    case Step::Kind::kCopy: {
        std::vector<Copy> found;
        for (std::size_t i = 0; step.find_copies && i < number_; ++i) {
            auto make = context_.keys[i].result().empty() ? std::exchange(context_.put_off[i], {})
                                                          : nullptr; // its script may make a source
            if (make) {
                CYBELE_CHECK(make());
            }
        }
        if (step.find_copies) {
            CYBELE_TRY(found, step.find_copies());
        }
        for (const Copy& copy : step.find_copies ? found : step.copies) {
            CYBELE_CHECK(copy_files(copy, from_host(context_.request.steps), root_));
        }
        return {};
    }
    case Step::Kind::kStageCopy: {
        const bool is_own = step.from_stage == number_;
        if (auto make = is_own ? nullptr : std::exchange(context_.put_off[step.from_stage], {})) {
            CYBELE_CHECK(make());
        }
        CYBELE_TRY(const auto copies, stage_copies(step));
        for (const Copy& copy : copies) {
            CYBELE_CHECK(copy_files(copy, from_stage(step), root_));
        }
        return {};
    }
    case Step::Kind::kHostScript:
        return run_host_script("setup", step.text, step.arguments);
    case Step::Kind::kScript:
        return run_script(step);
    }
    return {};
}

/// A result that cannot be kept (no space) costs the next build time, not this one its end.
void StageBuilder::keep(const std::string& key, const fs::path& folder, const KeptStep& what) {
    if (key.empty()) {
        return;
    }
    const auto lock = context_.cache.lock(kStepShelf, layer_key(key));
    if (lock && context_.cache.peek(kStepShelf, layer_key(key))) {
        return;
    }
    auto put =
        lock ? context_.cache.put(kStepShelf,
                                  layer_key(key),
                                  [&](const fs::path& file) { return pack_layer(folder, file); })
             : Result<fs::path>(fail(lock.error()));
    if (!put) {
        report_("warning: the step's result is not cached: " + put.error().message());
        return;
    }
    // Not one that another build kept meanwhile: its files are other ones.
    if (auto squashfs = open_for_reading(*put)) {
        layers_->note_packed(std::move(*squashfs), *put);
    }
    context_.cache.note(kStepShelf, layer_key(key), print_kept(what));
}

Result<void> StageBuilder::test() {
    const Section* section = last_section(*plan_.stage, "test");
    if (section == nullptr || !context_.request.steps.runs_tests ||
        plan_.stage->joined("test").find_first_not_of(" \t\r\n") == std::string::npos) {
        return {};
    }
    report_({StepEvent::Kind::kStep, "%test", "%test"});
    CYBELE_TRY(const ScriptEnd end,
               context_.request.steps.has_writable_test
                   ? run_writable_test(root_, host_environment_)
                   : run_test(root_, host_environment_, TestTree::kReadOnly));
    if (end.code != 0) {
        return fail(step_failed(*section, "%test", end));
    }
    return {};
}

/// In one plain folder, where nothing is kept.
Result<void> StageBuilder::build_steps() {
    CYBELE_CHECK(fill_base(root_));
    for (const Step& step : plan_.steps) {
        report_({StepEvent::Kind::kStep, step.name, step.name});
        CYBELE_CHECK(run_step(step).map_error(during(doing("building step " + step.name))));
    }
    return {};
}

/// Each step in a layer of its own.
Result<void> StageBuilder::build_layers() {
    CYBELE_TRY(auto layers, Layers::make(directory_, context_.way));
    layers_ = std::make_shared<Layers>(std::move(layers));
    CYBELE_TRY(const std::size_t first, add_kept_layers());
    for (std::size_t i = first; i < plan_.steps.size(); ++i) {
        const KeptStep what = describe(i);
        // The first one that is not reused explains those behind it.
        const std::string why = i == first ? why_not_reused(context_.cache, what) : "";
        report_(
            {StepEvent::Kind::kStep, what.step + (why.empty() ? "" : " (" + why + ")"), what.step});
        CYBELE_CHECK(layers_->begin());
        CYBELE_CHECK(run_step(plan_.steps[i])
                         .map_error(during(doing("building step " + plan_.steps[i].name))));
        CYBELE_TRY(const fs::path folder, layers_->end());
        keep(keys_.steps[i].key, folder, what);
    }
    context_.cache.prune(kStepShelf, kStepCacheBytes);
    return layers_->begin();
}

Result<void> StageBuilder::build() {
    CYBELE_CHECK(make_directories(root_));
    CYBELE_CHECK(make_directories(host_environment_.work));
    if (const std::string pre = plan_.stage->joined("pre"); has_command(pre)) {
        report_({StepEvent::Kind::kStep, "%pre", "%pre"});
        CYBELE_CHECK(run_host_script("pre", pre, arguments_of(*plan_.stage, "pre")));
    }
    CYBELE_CHECK(is_layered_ ? build_layers() : build_steps());
    const StepRules& rules = context_.request.steps;
    const bool fixes = rules.fixes_permissions && (plan_.oci || !rules.follows_apptainer);
    CYBELE_CHECK(tidy(root_, fixes));
    CYBELE_CHECK(write_stage_metadata(context_, plan_, root_));
    if (number_ + 1 == context_.request.source.definition.stages.size()) {
        warn_of_libraries(context_, plan_, root_);
    }
    return test();
}

} // namespace

void add_stage(StageContext& context, const StagePlan& plan) {
    const auto builder = std::make_shared<StageBuilder>(context, plan);
    context.roots.push_back(builder->root());
    context.put_off.emplace_back([builder] { return builder->build(); });
}

Result<void> build_last_stage(StageContext& context, const StagePlan& plan) {
    StageBuilder builder(context, plan);
    context.roots.push_back(builder.root());
    context.put_off.emplace_back();
    CYBELE_CHECK(builder.build());
    context.layers = builder.layers();
    return {};
}

std::size_t count_kept(const StageContext& context, std::size_t stage) {
    const std::vector<StepKey>& steps = context.keys[stage].steps;
    std::size_t count = 0;
    while (is_layered(context, stage) && count < steps.size() && !steps[count].key.empty() &&
           context.cache.peek(
               kStepShelf, layer_key(steps[count].key, context.way.attributes, context.owners))) {
        ++count;
    }
    return count;
}

} // namespace cybele::builder
