// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace cybele::builder {

/// Removes from a tree what package managers leave behind and what differs from one build to the
/// next: the machine's id, logs, apt's lists and caches, backups of dpkg. Paths are resolved inside
/// the tree.
/// With `fixes_permissions` (--fix-perms) the owner may read and write every file, and enter every
/// directory.
[[nodiscard]] Result<void> tidy(const std::filesystem::path& root, bool fixes_permissions = false);

/// Whether the tree has a help text, which its base gave it.
[[nodiscard]] bool has_help(const std::filesystem::path& root);

/// The help text of a definition, or nothing where that of the base stays; like with Apptainer the
/// labels speak of the new one all the same.
[[nodiscard]] std::string
help_beside(bool keeps_base, std::string help, std::map<std::string, std::string>& labels);

} // namespace cybele::builder
