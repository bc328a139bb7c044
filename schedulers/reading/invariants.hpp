// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/batch_script.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::schedulers {

/// A rule that every rendered script keeps (docs/invariants.md).
struct Invariant {
    std::string_view id; ///< A1 … H7
    std::string_view text;
};
[[nodiscard]] std::span<const Invariant> invariants();
[[nodiscard]] const Invariant* find_invariant(std::string_view id);
/// What `explain D7` prints.
[[nodiscard]] std::string explain_invariant(const Invariant& invariant);

/// A place where a script breaks an invariant.
struct Break {
    std::string_view invariant;
    std::size_t line = 0; ///< 0: the script as a whole
    std::string what;
    std::string help;
};

/// The invariants that can be judged by reading the script, and that it breaks, by line. A rendered
/// script breaks none. Pure.
[[nodiscard]] std::vector<Break> find_breaks(const BatchScript& script, const Asked& asked);

/// The ids of those that find_breaks() can find.
[[nodiscard]] std::vector<std::string_view> readable_invariants();

} // namespace cybele::schedulers
