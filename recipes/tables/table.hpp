// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/tables/tables.hpp"

#include <string_view>
#include <vector>

/// The text tables that the program carries inside.
namespace cybele::recipes {

/// The rows of tables/NAME.txt, the line of column names first; each cell without the blanks
/// around it.
[[nodiscard]] std::vector<std::vector<std::string_view>> table_rows(std::string_view name);

/// "gcc make S" → {"gcc make", kSource}; "?" → {"", kUnknown}.
[[nodiscard]] Marked read_marked(std::string_view cell);

/// "hdf5-devel @epel+crb S", "none S", "zlib-devel ?".
[[nodiscard]] NeedCell read_need_cell(std::string_view cell);

} // namespace cybele::recipes
