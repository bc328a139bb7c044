// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace cybele {

/// What is allowed of a path whose content decides something. Without any of these, each component
/// of the path, the target of each link included, belongs to the user or to root, and nobody else
/// can write there; a folder above it may be sticky, like /tmp.
struct OwnPathRules {
    bool is_folder = false;       ///< else a regular file
    bool group_may_write = false; ///< the folder itself, as a store that a group shares
    bool may_be_sticky = false;   ///< the folder itself, as one for temporary files
    bool group_above = false;     ///< root may have opened a folder above to a group
    bool has_any_owner = false;   ///< the folder itself: the user has allowed it
};

/// Opens it (a folder with O_PATH) without following a link that is not checked, so that what was
/// checked is what is read. A missing one is kInput; one that others can have written is
/// kEnvironment, the reason naming the component, its owner and its mode.
[[nodiscard]] Result<UniqueFd> open_own(const std::filesystem::path& path,
                                        const OwnPathRules& rules = {});

/// The whole file, of which open_own() holds.
[[nodiscard]] Result<std::string> read_own_file(const std::filesystem::path& path,
                                                std::size_t limit = std::size_t{1} << 20U);

} // namespace cybele
