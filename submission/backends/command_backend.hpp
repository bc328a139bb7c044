// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"

namespace cybele::submission {

/// A back end whose scheduler is reached by its commands, on this machine or behind ssh.
[[nodiscard]] std::unique_ptr<Backend> command_backend(std::unique_ptr<Commands> commands,
                                                       std::unique_ptr<Host> host);

/// The call once for each id, which comes behind its words: each tells by its code what became of
/// it.
[[nodiscard]] std::vector<Call> with_each(const Call& call, const std::vector<std::string>& ids);

/// What a command that failed said, in one text.
[[nodiscard]] std::string words_of(const Outcome& outcome);
} // namespace cybele::submission
