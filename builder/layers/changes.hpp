// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::builder {

/// What the topmost layer of a tree changes, as commands of a shell that make the same changes:
/// packages of dpkg by apt-get, folders, links, modes, removals, and small texts; other files are
/// named in a comment. What programs leave behind (caches, logs, temporary files) is left out.
/// `lowers`: the folders of the layers below, the topmost first.
[[nodiscard]] std::string changes_as_commands(const std::filesystem::path& upper,
                                              const std::vector<std::filesystem::path>& lowers);

} // namespace cybele::builder
