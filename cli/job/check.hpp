// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

namespace cybele::cli {

void install_job_check(CLI::App& job, Session& session);

} // namespace cybele::cli
