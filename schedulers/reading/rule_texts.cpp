// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/invariants.hpp"
#include "support/find.hpp"

#include <fmt/format.h>

namespace cybele::schedulers {

std::string explain_invariant(const lint::Rule& invariant) {
    const auto readable = readable_invariants();
    const bool is_readable = contains(readable, invariant.id);
    return fmt::format("{}: {}\n{}\nall rules: `cybelectl explain` lists their names\n",
                       invariant.id,
                       invariant.title,
                       is_readable ? "`job explain SCRIPT` finds where a script breaks it"
                                   : "every rendered script keeps it; it shows only in a run");
}

} // namespace cybele::schedulers
