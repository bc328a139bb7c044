// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_script.hpp"

#include <span>
#include <string_view>

namespace cybele::bridge {

/// A directive that a script handed over by the bridge cannot contain.
struct RefusedDirective {
    std::string_view need;   ///< of the option table; empty: `option` says which
    std::string_view option; ///< how it begins
    std::string_view because;
};

[[nodiscard]] std::span<const RefusedDirective> refused_directives();

/// The row that refuses it; nullptr: it may stand there.
[[nodiscard]] const RefusedDirective* find_refused(const schedulers::Directive& directive);

} // namespace cybele::bridge
