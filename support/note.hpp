// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string_view>

namespace cybele {

/// As write_file(), private (0600), for what can be made again (notes beside the files of a cache):
/// it does not wait for the disk. A power failure can leave the old file, none, or one that is cut.
[[nodiscard]] Result<void> write_note(const std::filesystem::path& path, std::string_view bytes);

} // namespace cybele
