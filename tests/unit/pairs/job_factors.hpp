// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cybele::pairs {

/// A field of a Job or a Site, or what else a script depends on, with the values that are tried.
struct Factor {
    std::string_view document; ///< job, site; empty: `target`, `facts`
    std::string_view path;     ///< dotted; with `*` at its end its values are maps of fields there
    std::string_view values;   ///< a JSON array; null: the field is not written
};

/// All fields of a Job and of a Site. The first value of each is one that nothing refuses.
[[nodiscard]] std::span<const Factor> job_factors();

} // namespace cybele::pairs
