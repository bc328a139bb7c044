// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/model/recipe.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::recipes {

using Environment = std::vector<std::pair<std::string, EnvironmentValue>>;

/// One word for a shell, always in single quotes, in which a definition file's parser sees neither
/// `{{ name }}` nor anything else: `{{` becomes `{''{`.
[[nodiscard]] std::string definition_quote(std::string_view word);

/// Whether a definition file carries the text as it is: no line that begins with `%` or
/// `Bootstrap:`, no `{{ name }}`, no CR (facts of Apptainer parser).
[[nodiscard]] bool is_plain_payload(std::string_view text);

/// `export NAME='value'` lines; prepend and append keep an unset variable from leaving an empty
/// element, which would mean the current directory.
[[nodiscard]] std::string export_lines(const Environment& environment);

/// Arguments as a step sees them: `x-y` is `X_Y`.
[[nodiscard]] std::string argument_lines(const std::map<std::string, std::string>& arguments);

/// Lines that put `text` into a file, byte for byte: a quoted here-document, or base64 where the
/// definition file or the here-document would change it.
[[nodiscard]] std::string write_file_lines(std::string_view path, std::string_view text);

/// The same for the file whose path a shell variable holds.
[[nodiscard]] std::string write_variable_file_lines(std::string_view variable,
                                                    std::string_view text);

/// Lines that run a script of a user, `head` before it: in place where a definition file carries it
/// as it is, else out of a temporary file.
[[nodiscard]] std::string
script_lines(std::string_view script, std::string_view shell, std::string_view head);

/// A self-contained section body: its own subshell, `set -eu`, umask 022, the lines.
[[nodiscard]] std::string isolated(std::string_view lines);

/// The body of one step; `more` comes before the environment.
[[nodiscard]] std::string step_lines(const Step& step,
                                     const Environment& environment,
                                     const std::map<std::string, std::string>& arguments,
                                     const std::string& more = {});

} // namespace cybele::recipes
