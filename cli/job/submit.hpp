// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace cybele::cli {

struct Session;

/// Below `job`.
void install_job_resubmit(CLI::App& job, Session& session);

} // namespace cybele::cli
