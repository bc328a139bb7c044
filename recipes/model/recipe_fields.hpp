// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <span>
#include <string_view>

namespace cybele::recipes {

/// The tables of the documents of kind Recipe and Lock; from them come the readers' checks,
/// docs/schemas and the tables of docs/reference.
[[nodiscard]] const document::Kind& recipe_kind();

/// The words of `arch`, as Debian names processors.
[[nodiscard]] std::span<const std::string_view> arch_words();
/// What `uname -m` calls one, as a word of `arch`; "" for any other text.
[[nodiscard]] std::string_view arch_word_of(std::string_view machine);
[[nodiscard]] const document::Kind& lock_kind();

} // namespace cybele::recipes
