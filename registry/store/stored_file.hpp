// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/store/place.hpp"

#include <filesystem>

namespace cybele::registry {

/// Whether a file is an image of a store, by whatever name: of any store by the place where it, or
/// a symbolic link, leads to; of this one also by another name of the same file; of
/// others where nobody may write a file that has several names.
[[nodiscard]] bool is_stored_file(const Place& place, const std::filesystem::path& file);

} // namespace cybele::registry
