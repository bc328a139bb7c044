// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/layers.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <filesystem>
#include <vector>

/// The difference of two trees as a layer that any overlay understands, whoever mounts it.
namespace cybele::builder {

struct DeltaTrees {
    std::filesystem::path before; ///< the whole tree as it was
    std::filesystem::path after;  ///< the whole tree as it is
    /// Folders of the layers by which the two may differ: only what these name is compared.
    std::vector<std::filesystem::path> layers;
    std::vector<std::filesystem::path> compared; ///< relative paths that are compared anyway
};

/// Fills the empty folder `target` with what makes `after` of `before`: new and changed files, and
/// a whiteout for each name that is gone. There are no opaque directories: an ordinary user's
/// overlay does not see those of root (facts: Apptainer mounts without userxattr). Gives the number
/// of names that differ.
[[nodiscard]] Result<std::size_t> make_delta(const DeltaTrees& trees,
                                             const std::filesystem::path& target);

} // namespace cybele::builder
