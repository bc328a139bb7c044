// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cybele::cli {

/// What `check` found in one Recipe.
struct CheckedRecipe {
    std::string file;
    std::vector<std::string> names; ///< of its variants
    std::vector<Fault> warnings;

    [[nodiscard]] nlohmann::json json() const;
};

/// Every Recipe that is named, and those of a folder; all their errors at the same time.
/// `unlocked`: without their Locks, and packages may have no checksum.
[[nodiscard]] Result<std::vector<CheckedRecipe>>
check_each(const std::vector<std::string>& given,
           const std::vector<std::string>& arguments,
           bool unlocked);

} // namespace cybele::cli
