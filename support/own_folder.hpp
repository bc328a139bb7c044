// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/own_path.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace cybele {

/// A folder in which the program keeps something of its own, below the user's home unless a
/// variable names another.
struct OwnFolder {
    std::filesystem::path path;
    std::string_view holds;    ///< "the cache"
    std::string_view variable; ///< "CYBELE_CACHE_DIR"
    OwnPathRules rules = kOwnFolder;
    std::string allow = {}; ///< the command by which the user allows another owner; empty: none

    /// Of the user or root, and writable by nobody else.
    static constexpr OwnPathRules kOwnFolder{true, false, false, true, false};
    /// The same, but a group may share it.
    static constexpr OwnPathRules kGroupFolder{true, true, false, true, false};
    /// Each user's own files lie in it: /tmp.
    static constexpr OwnPathRules kScratch{true, false, true, true, false};
};

/// kEnvironment where somebody else could have written what is in the folder, with the owner and
/// the mode.
[[nodiscard]] Result<void> check_own_folder(const OwnFolder& folder);

/// Makes it (0700) with what is missing above it. kEnvironment where that cannot be, where
/// check_own_folder() refuses it, or where nothing can be written there; the help names the
/// variable.
[[nodiscard]] Result<void> make_own_folder(const OwnFolder& folder);

} // namespace cybele
