// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/contents/file_node.hpp"
#include "support/error.hpp"

#include <cstdint>

namespace cybele::images {

/// The root of a squashfs that lies in a file, read in place. The descriptor is duplicated. kInput
/// for what is no squashfs, is damaged, or is compressed in a way that this program lacks.
[[nodiscard]] Result<FilePointer> open_squashfs(int fd, std::uint64_t offset, std::uint64_t size);

} // namespace cybele::images
