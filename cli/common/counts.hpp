// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/counted.hpp"

#include <cstddef>
#include <string>

namespace cybele::cli {

/// "1 error, 0 warnings, 2 notes".
[[nodiscard]] inline std::string
counted_findings(std::size_t errors, std::size_t warnings, std::size_t notes) {
    return counted(errors, "error") + ", " + counted(warnings, "warning") + ", " +
           counted(notes, "note");
}

} // namespace cybele::cli
