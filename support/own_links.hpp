// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <filesystem>

namespace cybele {

/// Opens a regular file for reading in folders that users share: these may belong to anybody, but
/// each link on the way belongs to the user or to root. One of another user (kEnvironment) could
/// lead to what the user alone may read or write.
[[nodiscard]] Result<UniqueFd> open_file_past_own_links(const std::filesystem::path& path);
/// The same of a folder, with O_PATH.
[[nodiscard]] Result<UniqueFd> open_folder_past_own_links(const std::filesystem::path& path);

} // namespace cybele
