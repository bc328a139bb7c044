// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::cli {

/// Whether a command, such as "sif dump", is rarely used: it is listed by `help --all` only. All
/// else that speaks of commands (`help --list`, completion, man pages) knows it too.
[[nodiscard]] bool is_advanced(std::string_view command);

} // namespace cybele::cli
