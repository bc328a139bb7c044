// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

namespace cybele::cli {

/// `def check|format|print`.
void install_definition(CLI::App& app, Session& session);

} // namespace cybele::cli
