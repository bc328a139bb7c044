// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cybele {

/// From here on a write beyond the limit of file sizes (RLIMIT_FSIZE) fails with EFBIG, instead of
/// ending the process in the middle of a file. Called once, before any thread is started.
void ignore_file_size_signal();

/// What the signal does again as before: for a process that is about to become another program.
void restore_file_size_signal();

} // namespace cybele
