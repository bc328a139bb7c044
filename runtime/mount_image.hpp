// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/image_file.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

namespace cybele::runtime {

/// Unpacks it once below the cache directory (`unpacked/BLAKE2b`) and gives that folder. Several
/// processes wait for the first one.
[[nodiscard]] Result<std::filesystem::path> unpack_into_cache(const ImageFile& image,
                                                              const Environment& environment);

} // namespace cybele::runtime
