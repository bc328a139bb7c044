// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace cybele {

/// The umask of this process. It is not changed for the question: what another thread creates in
/// the meantime would have all permissions.
[[nodiscard]] mode_t own_umask();

} // namespace cybele
