// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace cybele::namespaces {

/// For a copy of this process that lives on beside the container: a session of its own, so that a
/// terminal's interrupt is for the program; the signals that end a job's processes leave it; it
/// holds no descriptor but `kept` (see keep_only()) and no folder. `ps` shows `name` (15 bytes of
/// it as the program's), cut to the room of the first one's command line, in place of that.
void stay_behind(const char* name, std::vector<int> kept);

} // namespace cybele::namespaces
