// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace cybele::submission {

/// `%x`, `%j`, `%%` of an output pattern (sbatch's spelling), and `%a` where an index is given.
[[nodiscard]] std::string expand_pattern(const std::string& pattern,
                                         const std::string& name,
                                         const std::string& id,
                                         const std::string& index = {});

/// A folder as a pattern that stands for it alone: each `%` twice.
[[nodiscard]] std::string without_percents(const std::filesystem::path& folder);

} // namespace cybele::submission
