// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace cybele::namespaces {

/// For a process that stays behind: it holds none of the caller's pipes, sockets and files.
/// Standard streams become /dev/null (closed where that is missing); all others are closed but
/// `kept`.
void keep_only(std::vector<int> kept);

} // namespace cybele::namespaces
