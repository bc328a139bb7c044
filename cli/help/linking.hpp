// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::cli {

/// How this program is linked, "dynamic" or "static": the one source that each of both links
/// compiles for itself.
[[nodiscard]] std::string_view linking();

} // namespace cybele::cli
