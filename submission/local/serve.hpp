// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/local/scheduler.hpp"

namespace cybele::submission {

/// What a supervisor does, in a process that was forked for it: runs its part of a job to the end,
/// writes the end down, takes a turn of the scheduler, ends. Processes forked by that turn go on
/// here with theirs. Every descriptor but the standard ones, which become /dev/null, is closed.
[[noreturn]] void serve(SupervisorTask task, const LocalScheduler& scheduler);

} // namespace cybele::submission
