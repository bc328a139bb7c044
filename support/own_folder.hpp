// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string_view>

namespace cybele {

/// A folder in which the program keeps something of its own, below the user's home unless a
/// variable names another.
struct OwnFolder {
    std::filesystem::path path;
    std::string_view holds;    ///< "the cache"
    std::string_view variable; ///< "CYBELE_CACHE_DIR"
};

/// Makes it (0700) with what is missing above it. kEnvironment where that cannot be, or where
/// nothing can be written there; the help names the variable.
[[nodiscard]] Result<void> make_own_folder(const OwnFolder& folder);

} // namespace cybele
