// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cybele::cli {

/// "1 error", "2 errors".
[[nodiscard]] inline std::string counted(std::size_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// "1 error, 0 warnings, 2 notes".
[[nodiscard]] inline std::string
counted_findings(std::size_t errors, std::size_t warnings, std::size_t notes) {
    return counted(errors, "error") + ", " + counted(warnings, "warning") + ", " +
           counted(notes, "note");
}

} // namespace cybele::cli
