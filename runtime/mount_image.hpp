// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/image_file.hpp"
#include "runtime/stage.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

namespace cybele::runtime {

/// Mounts the squashfs through a loop device that goes with the mount (root only).
[[nodiscard]] Result<UniqueFd> mount_by_kernel(const Stage& stage, const ImageFile& image);

/// Mounts it by FUSE in this namespace and starts `squashfuse_ll` (its path) on the descriptor, in
/// a mount namespace without that mount: when the last process of the container is gone, so is the
/// mount, and the server ends. It is no child of this process and holds none of its descriptors.
[[nodiscard]] Result<UniqueFd>
mount_by_fuse(const Stage& stage, const ImageFile& image, const std::filesystem::path& server);

/// Unpacks it once below the cache directory (`unpacked/SHA-256`) and gives that folder. Several
/// processes wait for the first one.
[[nodiscard]] Result<std::filesystem::path> unpack_into_cache(const ImageFile& image,
                                                              const Environment& environment);

/// The server for mount_by_fuse(): squashfuse_ll in PATH or the system's usual folders.
[[nodiscard]] std::optional<std::filesystem::path> find_fuse_server(const Environment& environment);

} // namespace cybele::runtime
