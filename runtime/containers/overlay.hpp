// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/image_file.hpp"
#include "runtime/containers/stage.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// What lies over an image: overlay partitions of its own SIF, and --overlay.
namespace cybele::runtime {

/// One --overlay, opened before the stage covers anything.
struct Overlay {
    ImageFile file;           ///< a directory (O_PATH of it), a squashfs or an ext3 file
    bool is_writable = false; ///< without ":ro", and no squashfs
    UniqueFd mounted;         ///< of an ext3 file, after mount_overlays(): O_PATH of its root

    /// Where `upper` and `work` lie.
    [[nodiscard]] int folder() const {
        return mounted.valid() ? mounted.get() : file.fd.get();
    }
};

/// Reads PATH[:ro] of each option. kInput, a message each: a missing path, a file that is no
/// squashfs, SIF or ext3 file system, several writable ones; kUsage: an empty path. A directory's
/// `upper` and `work` are made where it is writable, as Apptainer does. With `has_tmpfs`
/// (--writable-tmpfs) none may be writable. With a demand each must be a SIF whose signatures hold,
/// as the image itself.
[[nodiscard]] Result<std::vector<Overlay>> open_overlays(const std::vector<std::string>& options,
                                                         bool has_tmpfs,
                                                         const ImageDemand* demand = nullptr);

/// The ext3 partition of the image itself as the lowest overlay, written to where `is_writable`.
[[nodiscard]] Result<void>
add_own_overlay(std::vector<Overlay>& overlays, const ImageFile& image, bool is_writable);

/// Mounts the ext3 files among them, by the host's fuse2fs. Root's file system gets its folders
/// where it lacks them.
[[nodiscard]] Result<void>
mount_overlays(const Stage& stage, std::vector<Overlay>& overlays, bool is_root);

/// The image with everything read-only laid over it, the later the higher; the image itself where
/// there is nothing. `way` is how the image was mounted.
[[nodiscard]] Result<UniqueFd> lay_over(const Stage& stage,
                                        UniqueFd image,
                                        const ImageFile& file,
                                        const std::vector<Overlay>& overlays,
                                        const std::string& way);

/// The writable one; null where there is none.
[[nodiscard]] const Overlay* writable_overlay(const std::vector<Overlay>& overlays);

/// Of an image and its overlays that were verified and not copied: now that they are mounted.
[[nodiscard]] Result<void> check_all_unchanged(const ImageFile& file,
                                               const std::vector<Overlay>& overlays);

} // namespace cybele::runtime
