// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/image_file.hpp"
#include "runtime/stage.hpp"
#include "support/environment.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::runtime {

struct MountRequest {
    bool is_root = false;
    bool is_writable = false;
    bool is_verbose = false;
    std::vector<int> sources; ///< of the binds, O_PATH, see Stage::make()
};

struct MountedImage {
    Stage stage;
    UniqueFd root;   ///< of the image's root directory, O_PATH
    std::string way; ///< as MountChoice::way, or "directory"
};

/// Mounts the image in this mount namespace in the first way that works: by the kernel (root), by
/// FUSE, unpacked. kEnvironment with the reason of each when none does.
[[nodiscard]] Result<MountedImage>
mount_image(const ImageFile& image, const MountRequest& request, const Environment& environment);

/// A line on standard error, for -v.
void tell_if(bool is_wanted, const std::string& text);

} // namespace cybele::runtime
