// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/asked.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cybele::schedulers {

/// Commands that belong together, and their lines.
struct Statement {
    std::string text; ///< its lines as they are, each with its end
    std::vector<const ShellCommand*> commands;
    bool is_conditional = false; ///< a part of an `if`
};

/// A body that starts one program, and does nothing else but prepare it.
struct Body {
    bool reads_arguments = false; ///< `$1`, `$@` …
    std::vector<Statement> statements;
    std::size_t place = 0; ///< the statement of the launch
    const ShellCommand* launch = nullptr;
};

/// Unset: loops, functions, programs in the background, arguments of the script, or not exactly one
/// command that is not known to prepare a launch, or to print something. `why` is the first of
/// those.
[[nodiscard]] std::optional<Body> body_with_one_launch(const BatchScript& script,
                                                       std::vector<Remainder>& why);

/// `exit` or `exit $?` right after the launch, which changes nothing.
[[nodiscard]] bool ends_with_code_of_launch(const Body& body);

/// A command as it is written, on one line.
[[nodiscard]] std::string text_of_command(const ShellCommand& command);

} // namespace cybele::schedulers
