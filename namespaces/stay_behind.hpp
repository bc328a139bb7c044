// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cybele::namespaces {

/// What `ps` shows of this process, a copy of the one that was started: `name` (15 bytes are shown
/// of it as the program's) in place of the first one's command line, cut to the room of that.
void set_title(const char* name);

} // namespace cybele::namespaces
