// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/stage.hpp"

#include <set>

namespace cybele::runtime {

/// Directories of an image (paths without links) in which mount points are missing.
struct Underlay {
    std::set<std::filesystem::path> tops;        ///< replaced by a mirror; none lies below another
    std::set<std::filesystem::path> directories; ///< the tops, and what is mirrored below them
    /// The mirrors take a few mounts, fewer than an overlay costs; never where "/" is mirrored.
    bool is_small = false;
};
[[nodiscard]] Underlay plan_underlay(int image, const std::vector<NeededTarget>& missing);

/// Lays a mirror over each of the plan's tops, a directory on the stage into which the image's
/// entries are bound one by one, and makes the missing targets there; works with Linux 4.18 for
/// everybody. Links are copied. The root is the image (O_PATH) as before, or the mirror of "/".
[[nodiscard]] Result<UniqueFd> make_underlay(const Stage& stage,
                                             UniqueFd image,
                                             const Underlay& plan,
                                             const std::vector<NeededTarget>& missing);

} // namespace cybele::runtime
