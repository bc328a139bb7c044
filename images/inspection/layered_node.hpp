// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file_node.hpp"

#include <cstdint>

namespace cybele::images {

/// One file tree laid over another, as overlayfs shows the two: a name of `upper` hides the lower
/// one, directories are merged unless the upper is opaque (`trusted.overlay.opaque` or
/// `user.overlay.opaque` is `y`), and a whiteout (a character device 0:0) takes the lower name
/// away. `layer` (1 for the first over the lowest) keeps the inode numbers of the trees apart.
[[nodiscard]] FilePointer lay_over(FilePointer lower, FilePointer upper, std::uint64_t layer);

} // namespace cybele::images
