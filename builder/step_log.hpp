// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/inside.hpp"
#include "namespaces/sandbox.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>

/// Where the output of what runs in a build goes.
namespace cybele::builder {

/// The last lines of an output, indented, as messages show them; what a progress bar overwrote is
/// left out.
[[nodiscard]] std::string last_lines(std::string_view text, std::size_t count);

/// Runs it; with -v its output is the user's, else its end is kept for a message.
[[nodiscard]] Result<ScriptEnd> run_logged(const namespaces::Sandbox& sandbox,
                                           const Surroundings& surroundings);

} // namespace cybele::builder
