// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <map>
#include <string>

namespace cybele::document {

/// Replaces `@{x}` in the text, word and path values of a tree by `values`; `@@{` becomes `@{`.
/// Scripts, names, counts and keys are left alone. A name that has no value is a fault with its
/// place.
void substitute(const Kind& kind,
                yaml::Document& document,
                const std::map<std::string, std::string>& values,
                Faults& faults);

} // namespace cybele::document
