// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cybele::apiserver {

/// A time in nanoseconds since 1970 as the server reads a MicroTime: RFC 3339 in UTC with six
/// decimals, which it insists on.
[[nodiscard]] std::string micro_time(std::int64_t nanoseconds);

} // namespace cybele::apiserver
