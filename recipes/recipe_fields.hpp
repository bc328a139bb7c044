// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

namespace cybele::recipes {

/// The tables of the documents of kind Recipe and Lock; from them come the readers' checks,
/// docs/schemas and the tables of docs/reference.
[[nodiscard]] const document::Kind& recipe_kind();
[[nodiscard]] const document::Kind& lock_kind();

} // namespace cybele::recipes
