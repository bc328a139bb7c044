// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The commands of a shell script, as far as a linter needs them: words as written, with places;
/// quotes, substitutions and here-documents are known, so that their content is no command.
namespace cybele::definitions {

struct ScriptWord {
    std::string text;       ///< with its quotes
    std::size_t line = 0;   ///< in the script, from 0
    std::size_t column = 0; ///< byte in the line, from 1
};

/// What joins a command to the next one.
enum class Join { kEnd, kPipe, kAnd, kOr };

struct ScriptCommand {
    std::vector<ScriptWord> words; ///< without keywords such as `then` in front
    Join join = Join::kEnd;
    Join joined = Join::kEnd;  ///< to the one before
    bool is_condition = false; ///< of if, while or until, or negated by `!`: may fail
    bool is_nested = false;    ///< in if, a loop, case or braces
    bool ends_group = false;   ///< its result is that of its group: the last one in parentheses,
                               ///< of a function, or in braces before `||`

    /// The program's name without its folder, behind assignments and `sudo`, `env`, `exec` …; "".
    [[nodiscard]] std::string program() const;
    /// Index in `words` of that name.
    [[nodiscard]] std::size_t program_index() const;
    [[nodiscard]] bool has_word(std::string_view word) const;
};

[[nodiscard]] std::vector<ScriptCommand> script_commands(std::string_view script);

/// A here-document that the script's end ends.
struct OpenDocument {
    std::string delimiter;
    std::size_t line = 0; ///< of its beginning, from 0
};
[[nodiscard]] std::optional<OpenDocument> open_document(std::string_view script);

/// `NAME=` at the beginning of a word: the name, or "".
[[nodiscard]] std::string_view assigned_name(std::string_view word);
/// The names of variables that a word uses as `$NAME` or `${NAME}`, without a default; single
/// quotes protect them.
[[nodiscard]] std::vector<std::string> used_names(std::string_view word);

/// Whether a shell runs a command for the word's value: `$(…)` or backquotes that no quote hides.
[[nodiscard]] bool runs_command(std::string_view word);

/// Whether all commands that a shell runs for the word's value depend on who starts the container,
/// or where: `$(id -u)`. A build cannot know them.
[[nodiscard]] bool asks_for_the_start(std::string_view word);

} // namespace cybele::definitions
