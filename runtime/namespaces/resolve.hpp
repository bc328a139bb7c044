// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <functional>
#include <optional>

namespace cybele::namespaces {

/// Opens `path` with O_PATH as a process whose root is `root` would see it: absolute links and ".."
/// stay inside. Unset when it is not there; errno then says why.
[[nodiscard]] std::optional<UniqueFd> open_in_root(int root, const std::filesystem::path& path);

/// What make_in_root() shall do where something is missing.
struct Making {
    bool is_directory = true; ///< of the last component: a directory, else an empty file
    /// Asked with the directory that a new entry would be made in, and whether a link was followed
    /// on the way; unset: always allowed.
    std::function<bool(int directory, bool passed_link)> may_make_in;
};

/// As open_in_root(), and makes what is missing, following links whose target does not exist yet,
/// inside the root too.
[[nodiscard]] Result<UniqueFd>
make_in_root(int root, const std::filesystem::path& path, const Making& making);

/// The path without links as far as it exists in `root` (canonical), then the missing rest.
struct Resolved {
    std::filesystem::path existing; ///< "/" at least
    std::filesystem::path missing;  ///< relative; empty: all is there
};
[[nodiscard]] Resolved resolve_in_root(int root, const std::filesystem::path& path);

} // namespace cybele::namespaces
