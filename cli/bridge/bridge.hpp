// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace cybele::cli {

struct Session;

/// `bridge` with its verbs.
void install_bridge(CLI::App& app, Session& session);

} // namespace cybele::cli
