// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/store/place.hpp"

#include <filesystem>

namespace cybele::registry {

/// Whether a file is an image of a store, by whatever name: of any store by the place where it, or
/// a symbolic link, leads to; of this one also by another name of the same file. A read-only file
/// with several names counts as an image of another store, since it may be one.
[[nodiscard]] bool is_stored_file(const Place& place, const std::filesystem::path& file);

} // namespace cybele::registry
