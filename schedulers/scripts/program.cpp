// SPDX-License-Identifier: Apache-2.0
#include "schedulers/scripts/values.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// Characters that no runtime's `--env` reads in a way of its own: Apptainer splits at commas and
/// evaluates `$` and backquotes inside the container.
bool is_plain(std::string_view value) {
    return std::ranges::all_of(value, [](char character) {
        return is_alphanumeric(character) ||
               std::string_view("_./:=@%+-^").find(character) != std::string_view::npos;
    });
}

using launchers::kIndexMark;

/// The value as it is in an element: any index stands for all, which are digits.
std::string in_element(const launchers::Job& job, std::string value) {
    for (std::size_t at = 0; job.has_index() && (at = value.find(kIndexMark)) != value.npos;) {
        value.replace(at, kIndexMark.size(), "0");
    }
    return value;
}

bool is_expanded(const Rendering& rendering, const void* list, const std::string& name) {
    return list == &rendering.plan.environment && rendering.plan.expanded.contains(name);
}

/// The runtime sets LD_LIBRARY_PATH itself, for the libraries of GPUs: ours come before them.
void add_linker_words(const Rendering& rendering, std::vector<std::string>& words) {
    std::string code;
    std::vector<std::string> values;
    for (const auto& [name, value] : rendering.plan.environment) {
        if (!is_set_inside(rendering, name)) {
            continue;
        }
        values.push_back(rendering.plan.expanded.contains(name)
                             ? expansion_expression(*rendering.input.job, value)
                             : word_expression(*rendering.input.job, value));
        code += fmt::format("{0}=$1${{{0}:+:${0}}}; shift; ", name);
    }
    if (values.empty()) {
        return;
    }
    words.insert(words.end(),
                 {"/bin/sh", "-c", shell_quote("set -a; " + code + "exec \"$@\""), "sh"});
    words.insert(words.end(), values.begin(), values.end());
}

/// The first mark that a variable of the script replaces; none: its size is 0.
struct Mark {
    std::size_t place = std::string_view::npos;
    std::size_t size = 0;
    std::string variable;
};

Mark find_mark(const launchers::Job& job, std::string_view word) {
    Mark first;
    const auto look = [&](std::string_view text, const std::string& variable) {
        const std::size_t place = word.find(text);
        if (place != std::string_view::npos && (first.size == 0 || place < first.place)) {
            first = {place, text.size(), variable};
        }
    };
    if (job.has_index()) {
        look(kIndexMark, "CYBELE_ARRAY_INDEX");
    }
    for (std::size_t at = 0; job.sweep && at < job.sweep->names.size(); ++at) {
        const std::string& name = job.sweep->names[at];
        look("@{" + name + "}", launchers::variable_of_sweep(name));
    }
    return first;
}

} // namespace

std::string word_expression(const launchers::Job& job, std::string_view word) {
    if (find_mark(job, word).size == 0) {
        return shell_quote(word);
    }
    std::string expression;
    while (true) {
        const Mark mark = find_mark(job, word);
        if (mark.place != 0 && !word.empty()) {
            expression += shell_quote(word.substr(0, mark.place));
        }
        if (mark.size == 0) {
            return expression;
        }
        expression += fmt::format("\"${}\"", mark.variable);
        word.remove_prefix(mark.place + mark.size);
    }
}

std::string word_expressions(const launchers::Job& job, const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : " ") + word_expression(job, word);
    }
    return text;
}

namespace {

/// The shell, the Job's text, and the arguments: the Job's, and those of `sbatch SCRIPT a b`.
void add_script_words(const launchers::Job& job, std::vector<std::string>& words) {
    if (!job.shell.empty()) {
        for (const std::string& word : job.shell) {
            words.push_back(shell_quote(word));
        }
        words.emplace_back("-c");
    } else {
        words.insert(words.end(), {"/bin/sh", "-eu", "-c"});
    }
    words.push_back(shell_quote(job.script));
    if (job.shell_has_name()) {
        words.push_back(shell_quote(job.name));
    }
    for (const std::string& argument : job.arguments) {
        words.push_back(word_expression(job, argument));
    }
    const bool is_one = job.launch.kind == launchers::LaunchKind::kSerial ||
                        job.launch.kind == launchers::LaunchKind::kOpenmp;
    if (is_one && !(job.sweep && job.sweep->pack > 0)) {
        words.emplace_back("\"$@\"");
    }
}

} // namespace

ProgramWords program_words(const Rendering& rendering) {
    const launchers::Job& job = *rendering.input.job;
    ProgramWords program;
    std::map<std::string, std::string> odd; // by name: the last value counts
    for (const auto* list : {&rendering.plan.variables, &rendering.plan.environment}) {
        for (const auto& [name, value] : *list) {
            odd.erase(name);
            std::erase(program.container_variables, name);
            const bool expands = is_expanded(rendering, list, name);
            if (is_set_inside(rendering, name)) {
                continue;
            }
            if (is_for_program_alone(rendering, name)) {
                odd[name] =
                    name + "=" +
                    (expands ? expansion_expression(job, value) : word_expression(job, value));
            } else if (!expands && is_plain(in_element(job, value))) {
                program.container_variables.push_back(name);
            } else if (job.image) {
                odd[name] = expands // it is exported, and replaced once
                                ? fmt::format("{0}=\"${0}\"", name)
                                : word_expression(job, fmt::format("{}={}", name, value));
            }
        }
    }
    if (!odd.empty()) {
        program.before.emplace_back("env"); // of an image, if there is one: it changes no value
        for (const auto& [name, word] : odd) {
            program.before.push_back(word);
        }
    }
    add_linker_words(rendering, program.before);
    if (!job.script.empty()) {
        add_script_words(job, program.own);
    } else if (!job.command.empty()) {
        for (const std::string& word : job.command) {
            program.own.push_back(word_expression(job, word));
        }
    } else {
        if (program.before.empty()) {
            program.action = "run";
        } else {
            program.own.emplace_back("/.singularity.d/runscript");
        }
        for (const std::string& argument : job.arguments) {
            program.own.push_back(word_expression(job, argument));
        }
    }
    return program;
}

} // namespace cybele::schedulers
