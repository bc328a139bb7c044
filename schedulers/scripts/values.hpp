// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/dialects/dialect.hpp"
#include "schedulers/scripts/render.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace cybele::schedulers {

/// One rendering: its input, the dialect, the plan, and where faults go.
struct Rendering {
    const RenderInput& input;
    const Dialect& dialect;
    const launchers::LaunchPlan& plan;
    Faults& faults;
};

/// What the head's template may use. A value that the dialect's directives cannot carry is a fault
/// at its place.
[[nodiscard]] templates::Values head_values(const Rendering& rendering);

/// What the script's templates use.
[[nodiscard]] templates::Values script_values(const Rendering& rendering);

/// HH:MM:SS with as many hours as it takes: the one form that all batch systems read alike.
[[nodiscard]] std::string clock_text(std::chrono::seconds duration);

/// A path as one shell word, `~/` at its start as "$HOME"/. A leading `-` gets `./` before it.
[[nodiscard]] std::string path_expression(std::string_view path);

/// A Site's scratch folder as one shell word, `$USER` and `$CYBELE_JOB` in it expanded by the
/// script.
[[nodiscard]] std::string scratch_expression(std::string_view path);

/// What the templates of the launch kinds use: torchrun and Spark on each node, the bind model, and
/// how the program begins.
void add_kind_values(const Rendering& rendering, templates::Values& values);

/// What the templates use of a node's GPUs: the runtime's option, how they are counted before
/// anything starts, and the variable that says which are the job's.
void add_gpus(const Rendering& rendering, templates::Values& values);

/// A word of the Job's `command` or `environment` as one shell word: quoted, and in an array with
/// each `@{index}` replaced by the element's index when the script runs.
[[nodiscard]] std::string word_expression(const launchers::Job& job, std::string_view word);
/// Several, with single blanks between.
[[nodiscard]] std::string word_expressions(const launchers::Job& job,
                                           const std::vector<std::string>& words);

/// The program in the container (or the host's) as shell words, and the runtime's action.
struct ProgramWords {
    std::string action = "exec"; ///< exec, run
    std::string before;          ///< `env NAME=VALUE … `, for what `--env` cannot carry
    std::string own;             ///< the job's words; empty: the image's runscript
    std::vector<std::string> container_variables; ///< `NAME=VALUE` for --env
};
[[nodiscard]] ProgramWords program_words(const Rendering& rendering);

} // namespace cybele::schedulers
