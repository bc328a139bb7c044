// SPDX-License-Identifier: Apache-2.0
#include "schedulers/scripts/values.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

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

using launchers::kIndexMark;

/// The value as it is in an element: any index stands for all, which are digits.
std::string in_element(const launchers::Job& job, std::string value) {
    for (std::size_t at = 0; !job.array.empty() && (at = value.find(kIndexMark)) != value.npos;) {
        value.replace(at, kIndexMark.size(), "0");
    }
    return value;
}

} // namespace

std::string word_expression(const launchers::Job& job, std::string_view word) {
    if (job.array.empty() || word.find(kIndexMark) == std::string_view::npos) {
        return shell_quote(word);
    }
    std::string expression;
    while (true) {
        const std::size_t at = word.find(kIndexMark);
        if (at != 0 && !word.empty()) {
            expression += shell_quote(word.substr(0, at));
        }
        if (at == std::string_view::npos) {
            return expression;
        }
        expression += "\"$CYBELE_ARRAY_INDEX\"";
        word.remove_prefix(at + kIndexMark.size());
    }
}

std::string word_expressions(const launchers::Job& job, const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : " ") + word_expression(job, word);
    }
    return text;
}

ProgramWords program_words(const Rendering& rendering) {
    const launchers::Job& job = *rendering.input.job;
    ProgramWords program;
    std::map<std::string, std::string> odd; // by name: the last value counts
    for (const auto* list : {&rendering.plan.variables, &rendering.plan.environment}) {
        for (const auto& [name, value] : *list) {
            odd.erase(name);
            std::erase(program.container_variables, name);
            if (is_plain(in_element(job, value))) {
                program.container_variables.push_back(name);
            } else {
                odd[name] = word_expression(job, fmt::format("{}={}", name, value));
            }
        }
    }
    if (job.image && !odd.empty()) {
        program.before.emplace_back("env"); // of the image: it takes them as they are
        for (const auto& [name, word] : odd) {
            program.before.push_back(word);
        }
    }
    if (!job.script.empty()) {
        if (job.says("shell")) {
            for (const std::string& word : job.shell) {
                program.own.push_back(shell_quote(word));
            }
            program.own.emplace_back("-c");
        } else {
            program.own.insert(program.own.end(), {"/bin/sh", "-eu", "-c"});
        }
        program.own.push_back(shell_quote(job.script));
        program.own.push_back(shell_quote(job.name));
    } else if (!job.command.empty()) {
        for (const std::string& word : job.command) {
            program.own.push_back(word_expression(job, word));
        }
    } else if (!program.before.empty()) {
        program.own.emplace_back("/.singularity.d/runscript");
    } else {
        program.action = "run";
    }
    return program;
}

} // namespace cybele::schedulers
