// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cybele {

/// flock(2) with LOCK_SH, LOCK_EX or one of them and LOCK_NB; a signal does not end the waiting.
/// False and errno where it cannot be had.
[[nodiscard]] bool take_lock(int fd, int how);

} // namespace cybele
