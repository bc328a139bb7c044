// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cybele::runtime {

/// Fields of a CSV line: a field in double quotes may hold commas, and doubled quotes.
[[nodiscard]] std::vector<std::string> csv_fields(std::string_view line);

} // namespace cybele::runtime
