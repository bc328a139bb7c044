// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cybele::submission {

/// `%x`, `%j`, `%%` of an output pattern (sbatch's spelling), and `%a` where an index is given.
[[nodiscard]] std::string expand_pattern(const std::string& pattern,
                                         const std::string& name,
                                         const std::string& id,
                                         const std::string& index = {});

} // namespace cybele::submission
