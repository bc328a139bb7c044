// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cybele {

/// Whether a file that decides something exists, even as a link that leads nowhere. Only ENOENT and
/// ENOTDIR mean that it does not: one that cannot be looked for is kEnvironment, so that settings
/// do not vanish with the permission to see them. `may_be_there` ends the reason ("the settings of
/// this machine").
[[nodiscard]] Result<bool> is_present(const std::filesystem::path& path,
                                      std::string_view may_be_there);

/// Of a file that a document names: nothing where it exists, `missing` where it does not; where it
/// cannot be looked for, the same at the same place with that reason, as kEnvironment.
[[nodiscard]] std::optional<Fault>
why_absent(const std::filesystem::path& path, const std::string& named, Fault missing);

} // namespace cybele
