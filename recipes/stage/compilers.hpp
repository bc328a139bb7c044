// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/stage/base.hpp"

#include <span>
#include <string>
#include <string_view>

namespace cybele::recipes {

/// Processors that code is compiled for. `since`: the first major GCC that knows the word (its
/// release notes).
struct TargetRow {
    std::string_view word; ///< of `-march=`
    std::string_view arch; ///< of Base::arch
    int since = 0;
};
[[nodiscard]] std::span<const TargetRow> targets();
[[nodiscard]] const TargetRow* find_target(std::string_view word);

/// The compilers that a stage wants: its own, else the top level's. Empty: no wish.
struct WantedCompilers {
    std::string family;
    std::string version;
    std::string target;
    bool is_own = false;
};
[[nodiscard]] WantedCompilers compilers_of(const StageContext& context);

/// `export CC=… CFLAGS=…` for sources and steps of a stage that compiles; never at run time.
[[nodiscard]] std::string compiler_lines(const StageContext& context);

/// The number before the first point.
[[nodiscard]] int major_of(std::string_view version);

} // namespace cybele::recipes
