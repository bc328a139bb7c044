// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cybele::pipeline {

/// The change of the file `name` from one text to another, as `diff -u` shows it and `patch` reads
/// it. Equal texts give "".
[[nodiscard]] std::string
unified_diff(std::string_view before, std::string_view after, std::string_view name);

} // namespace cybele::pipeline
