// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace cybele {

/// Whether a program is this one under another name, as `install-as` makes it: the file that runs
/// now, a copy of it, or what another installation calls `cybelectl`.
[[nodiscard]] bool is_own_program(const std::filesystem::path& program);

} // namespace cybele
