// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/stage/base.hpp"

#include <span>
#include <string>
#include <string_view>

namespace cybele::recipes {

/// A generic name and the command that shows that it works.
struct TestRow {
    std::string_view need;
    std::string_view command;
};
[[nodiscard]] std::span<const TestRow> test_rows();

/// A package and the Python module that it brings, where their names differ.
struct ImportRow {
    std::string_view package; ///< of pip, or of apt without its `python3-`
    std::string_view module;
};
[[nodiscard]] std::span<const ImportRow> import_rows();

/// Lines of `%test` for what the image has: versions of tools, imports of Python packages.
[[nodiscard]] std::string test_lines(const StageContext& context);

/// `%help`: the Recipe's own line, and what is inside.
[[nodiscard]] std::string help_lines(const StageContext& context, const MpiRow* mpi);

} // namespace cybele::recipes
