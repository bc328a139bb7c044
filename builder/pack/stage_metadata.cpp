// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/stage_metadata.hpp"

#include "builder/bases/header.hpp"
#include "builder/steps/libraries.hpp"
#include "builder/steps/tidy.hpp"
#include "definitions/grammar/lines.hpp"
#include "definitions/grammar/scan.hpp"
#include "images/container/metadata.hpp"

#include <string>
#include <vector>

namespace cybele::builder {

namespace fs = std::filesystem;

const definitions::Section* last_section(const definitions::Stage& stage, std::string_view name) {
    const definitions::Section* last = nullptr;
    for (const definitions::Section& section : stage.sections) {
        last = section.name == name ? &section : last;
    }
    return last;
}

std::string arguments_of(const definitions::Stage& stage, std::string_view name) {
    std::string arguments;
    for (const definitions::Section& section : stage.sections) {
        arguments =
            section.name == name && !section.arguments.empty() ? section.arguments : arguments;
    }
    return arguments;
}

Result<void>
write_stage_metadata(const StageContext& context, const StagePlan& plan, const fs::path& root) {
    const definitions::Stage& stage = *plan.stage;
    images::Metadata metadata;
    metadata.definition = context.request.source.definition.text;
    metadata.environment = stage.joined("environment");
    metadata.runscript = stage.joined("runscript");
    metadata.runscript_arguments = arguments_of(stage, "runscript");
    metadata.startscript = stage.joined("startscript");
    metadata.startscript_arguments = arguments_of(stage, "startscript");
    metadata.test = stage.joined("test");
    metadata.test_arguments = arguments_of(stage, "test");
    metadata.has_test = metadata.test.find_first_not_of(" \t\r\n") != std::string::npos;
    const bool keeps_help = context.request.steps.keeps_base_help && has_help(root);
    metadata.help = help_beside(keeps_help, stage.joined("help"), metadata.labels);
    for (auto& [key, value] : definitions::label_lines(stage.joined("labels"))) {
        metadata.labels[key] = value;
    }
    for (const auto& [key, value] : context.request.image.labels) {
        metadata.labels[key] = value;
    }
    metadata.names_apptainer = context.request.steps.follows_apptainer;
    metadata.replaces_labels = context.request.steps.replaces_labels;
    if (!plan.base_digest.empty() && !context.request.steps.follows_apptainer) {
        metadata.labels.try_emplace("org.opencontainers.image.base.name", base_image(stage));
        metadata.labels.try_emplace("org.opencontainers.image.base.digest", plan.base_digest);
    }
    for (const auto& [key, value] : stage.header) {
        metadata.header_labels[key] = value;
    }
    metadata.on_warning = [&context](const std::string& text) {
        context.report(context.request.steps.follows_apptainer
                           ? StepEvent(StepEvent::Kind::kWarning, text)
                           : StepEvent("warning: " + text));
    };
    metadata.build_time = context.request.time.now;
    return images::write_metadata(root, metadata);
}

void warn_of_libraries(const StageContext& context, const StagePlan& plan, const fs::path& root) {
    std::vector<std::string> targets;
    for (const Step& step : plan.steps) {
        if (step.kind != Step::Kind::kCopy && step.kind != Step::Kind::kStageCopy) {
            continue;
        }
        for (const definitions::FileLine& line : definitions::file_lines(*step.section)) {
            targets.push_back(line.destination.empty() ? line.source : line.destination);
        }
    }
    const auto folders = library_path_of(plan.stage->joined("environment"));
    for (const MissingLibrary& missing : find_missing_libraries(root, targets, folders)) {
        context.report(warning_of(missing)); // without the stage's name: it is for the user
    }
}

} // namespace cybele::builder
