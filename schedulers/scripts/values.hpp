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

/// The text as a directive carries it, or false where the Job has none.
[[nodiscard]] templates::Value
optional_text(const Rendering& rendering, std::string_view field, const std::string& text);

/// Options of some batch systems: GPUs in their forms, hosts, licences, reservation, begin …
void add_options(const Rendering& rendering, templates::Values& values);

/// Which fields a batch launch writes into its head, and where its outputs go.
void add_batch_head(const Rendering& rendering, templates::Values& values);

/// The image of the Job: its file, its digest, and what it cannot be.
void add_image(const Rendering& rendering, templates::Values& values);

/// The program's variables, the container's options, and files with secrets.
void add_environment(const Rendering& rendering, templates::Values& values);

/// Modules, set-up and teardown.
void add_steps(const Rendering& rendering, templates::Values& values);

/// The script of a batch launch with its shell and arguments, and the programs that it is given.
void add_batch(const Rendering& rendering, templates::Values& values);

/// The assignment of the index variable of another batch system that the script reads, with
/// `$array_index`; "" where it reads none, or also that of its own batch system.
[[nodiscard]] std::string foreign_index(const Rendering& rendering);

/// Warns of a script that calls programs or reads variables of another batch system.
void note_foreign_words(const Rendering& rendering);

/// Warns of a Job without an image whose own words start a container, where the Site requires
/// signatures: they are checked for a Job's image only.
void note_unverified_start(const Rendering& rendering);

/// Whether a directive of the dialect carries the text unchanged.
[[nodiscard]] bool is_carried(const Rendering& rendering, const std::string& text);

/// Whether a batch launch leaves its outputs to directives: the dialect's own way for plain paths.
[[nodiscard]] bool has_plain_outputs(const Rendering& rendering);

/// Whether the script opens its outputs: directives of the dialect cannot, and they are not left to
/// the batch system.
[[nodiscard]] bool opens_outputs(const Rendering& rendering);

/// The `directives` of Site, queue and Job for the dialect, in this order, for the head. Words that
/// no option takes, and those that a field says already, are faults at their place.
[[nodiscard]] templates::Value directive_lines(const Rendering& rendering);

/// Whether `directives` of the Job name the outputs of a Slurm script, and `output` does not.
[[nodiscard]] bool has_outputs_by_directives(const Rendering& rendering);

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

/// A text with variables of the node as one shell word; `@{index}` as above.
[[nodiscard]] std::string expansion_expression(const launchers::Job& job, std::string_view text);
/// A path or bind as one shell word.
[[nodiscard]] std::string node_expression(const launchers::Job& job,
                                          const launchers::NodeText& text);

/// Whether the variable is set in the container only: it would change the host's programs.
[[nodiscard]] bool is_set_inside(const Rendering& rendering, std::string_view name);

/// Whether a variable may have the name of one of the script, which are all of lower-case letters
/// and `_`. Exported, it would replace the script's: it is given to the program alone, by `env`.
[[nodiscard]] bool is_for_program_alone(const Rendering& rendering, std::string_view name);

/// The rows of a sweep, and how those of one element run side by side.
void add_sweep(const Rendering& rendering, templates::Values& values);

/// A pattern of `output` as one shell word: `%x` name, `%j` id, `%a` index.
/// Those of elements, or with `is_split` of rows, are told apart where the pattern has no `%a`.
[[nodiscard]] std::string
pattern_expression(const Rendering& rendering, const std::string& pattern, bool is_split);

/// Whether a pattern of `output` gives the name of the file that the batch system itself writes
/// into the folder of submission when the job has ended, over what is there.
[[nodiscard]] bool has_name_of_log(const Rendering& rendering, const std::string& pattern);

/// Texts with variables of the node: which must be set, folders that are made, the copy of the
/// image, standard input, and a `workdir` and outputs that only the node knows.
void add_node_files(const Rendering& rendering, templates::Values& values);

/// What only the fields of add_node_files() need, of which a plain script has nothing.
[[nodiscard]] std::string_view field_of_node_files(const launchers::Job& job);

/// The program in the container (or the host's) as shell words, and the runtime's action.
struct ProgramWords {
    std::string action = "exec";                  ///< exec, run
    std::vector<std::string> before;              ///< `env NAME=VALUE …`, for what `--env` cannot
    std::vector<std::string> own;                 ///< the job's; empty: the image's runscript
    std::vector<std::string> container_variables; ///< names whose values `--env` carries
};
[[nodiscard]] ProgramWords program_words(const Rendering& rendering);

/// Shell words on lines of at most 100 characters, as far as their own lengths allow it. The first
/// line begins at `column`, the others after eight blanks.
[[nodiscard]] templates::Value wrapped(const std::vector<std::string>& words, std::size_t column);

/// The words on several lines that each begin with the same command: {words: …} for each.
[[nodiscard]] templates::Value lines_of_words(const std::vector<std::string>& words,
                                              std::size_t column);

/// What needs the plan's numbers and the program's words: the line of the log, the launch, whether
/// shellcheck has to be told that the words are literal.
void add_launch_words(const Rendering& rendering, templates::Values& values);

/// `#SBATCH`, `#PBS` or `#BSUB`, where a line begins with it, indented or not: batch systems read
/// some of them wherever they stand. Empty: no line does.
[[nodiscard]] std::string_view directive_in(std::string_view text);

} // namespace cybele::schedulers
