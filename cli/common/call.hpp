// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

#include <string>
#include <string_view>

namespace cybele::cli {

/// The exit code of a refusal where the program's own code is passed on (DESIGN: exit codes).
constexpr int kRefusedToRun = 255;

// What both entrances share: `main.cpp`, which knows all verbs, and `start/main.cpp`, which knows
// those that start a container.

/// Fills in what a call finds: the environment, whether there is a terminal.
void learn(Session& session, void (*sigpipe_before)(int));

/// The words behind the program. Called as `run-singularity`, as the first line of a SIF asks for,
/// `run` comes before them.
[[nodiscard]] std::vector<std::string> words_of(int argc, char** argv);

/// "apptainer" or "singularity" where the last part of the path is that, the latter for
/// "run-singularity", too; else empty.
[[nodiscard]] std::string apptainer_name_of(std::string_view path);

/// Does what the command line asked for; a refusal is told on standard error. The exit code.
[[nodiscard]] int act(const Session& session);

/// Runs `call`; an exception, which is a fault of the program itself, becomes a message and 1.
[[nodiscard]] int guarded(int (*call)(int, char**, void (*)(int)), int argc, char** argv);

} // namespace cybele::cli
