// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace cybele::images {

/// One line of an edit: kept ' ', removed '-' or added '+'.
struct LineEdit {
    char mark;
    std::string_view line;
};

/// A shortest edit from one text's lines to the other's, by Myers' algorithm in linear memory.
/// Where thousands of lines that both texts have are in another order, it is short, but not the
/// shortest: the time grows with the number of lines, not with its square.
[[nodiscard]] std::vector<LineEdit> line_edits(const std::vector<std::string_view>& before,
                                               const std::vector<std::string_view>& after);

} // namespace cybele::images
