// SPDX-License-Identifier: Apache-2.0
#include "schedulers/values.hpp"

#include <algorithm>

namespace cybele::schedulers {
namespace {

/// Characters that no runtime's `--env` reads in a way of its own: Apptainer splits at commas and
/// evaluates `$` and backquotes inside the container.
bool is_plain(std::string_view value) {
    return std::all_of(value.begin(), value.end(), [](char character) {
        return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
               (character >= '0' && character <= '9') ||
               std::string_view("_./:=@%+-^").find(character) != std::string_view::npos;
    });
}

} // namespace

ProgramWords program_words(const Rendering& rendering) {
    const launchers::Job& job = *rendering.input.job;
    ProgramWords program;
    std::vector<std::string> odd;
    for (const auto* list : {&rendering.plan.variables, &rendering.plan.environment}) {
        for (const auto& [name, value] : *list) {
            std::string word = name;
            word += '=';
            word += value;
            auto& into = is_plain(value) ? program.container_variables : odd;
            into.push_back(std::move(word));
        }
    }
    if (job.image && !odd.empty()) {
        // `env` of the image takes them as they are.
        program.words.emplace_back("env");
        program.words.insert(program.words.end(), odd.begin(), odd.end());
    }
    if (!job.script.empty()) {
        const std::vector<std::string> shell{"/bin/sh", "-eu", "-c", job.script, job.name};
        program.words.insert(program.words.end(), shell.begin(), shell.end());
    } else if (!job.command.empty()) {
        program.words.insert(program.words.end(), job.command.begin(), job.command.end());
    } else if (!program.words.empty()) {
        program.words.emplace_back("/.singularity.d/runscript");
    } else {
        program.action = "run";
    }
    return program;
}

} // namespace cybele::schedulers
