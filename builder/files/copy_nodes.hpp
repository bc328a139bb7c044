// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"

#include <filesystem>
#include <optional>

#include <sys/stat.h>

namespace cybele::builder {

inline constexpr int kDeepestCopy = 128; ///< levels of directories; more is a loop of links

/// A source of %files or something below it.
struct CopiedNode {
    UniqueFd fd; ///< O_PATH
    struct stat status {};
};

/// Whether a link at the end of a path is followed.
enum class Links { kFollow, kKeep };

/// The node at `path` inside the root.
[[nodiscard]] std::optional<CopiedNode>
open_node(int root, const std::filesystem::path& path, Links links);

/// Opens an O_PATH descriptor again, for reading.
[[nodiscard]] UniqueFd reopen(int fd, int flags);

} // namespace cybele::builder
