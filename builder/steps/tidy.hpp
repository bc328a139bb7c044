// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>

namespace cybele::builder {

/// Removes from a tree what package managers leave behind and what differs from one build to the
/// next: the machine's id, logs, apt's lists and caches, backups of dpkg. Paths are resolved inside
/// the tree.
[[nodiscard]] Result<void> tidy(const std::filesystem::path& root);

} // namespace cybele::builder
