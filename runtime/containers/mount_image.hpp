// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/image_file.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

namespace cybele::runtime {

struct UnpackedImage {
    std::filesystem::path folder;
    UniqueFd lock; ///< shared: remove_unpacked() lets the tree be until this is closed
};

/// Unpacks it once below the cache directory (`unpacked/BLAKE2b`) and gives that folder. Several
/// processes wait for the first one.
[[nodiscard]] Result<UnpackedImage> unpack_into_cache(const ImageFile& image,
                                                      const Environment& environment);

} // namespace cybele::runtime
