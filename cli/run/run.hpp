// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

namespace cybele::cli {

/// Each of the three alone (install_run() is the second): a start pays for no other verb's options.
void install_exec(CLI::App& app, Session& session);
void install_shell(CLI::App& app, Session& session);

} // namespace cybele::cli
