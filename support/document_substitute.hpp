// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <map>
#include <string>
#include <string_view>

namespace cybele::document {

/// Replaces `@{x}` in the text, word and path values of a tree by `values`; `@@{` becomes `@{`.
/// Scripts, names, counts and keys are left alone. A name that has no value is a fault with its
/// place.
void substitute(const Kind& kind,
                yaml::Document& document,
                const std::map<std::string, std::string>& values,
                Faults& faults);

/// A text that substitute() makes this one of: `@{` is written `@@{`.
[[nodiscard]] std::string escaped(std::string_view text);
/// `@@{` as `@{`, where nothing is substituted.
[[nodiscard]] std::string unescaped(std::string_view text);
/// The tree of which substitute() makes this one, whatever its values are.
void escape(const Kind& kind, yaml::Node& root);

} // namespace cybele::document
