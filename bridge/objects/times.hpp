// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cybele::bridge {

/// `2026-11-25T02:35:47Z`, as the API server writes times in whole seconds.
[[nodiscard]] std::string time_text(std::int64_t seconds);

/// The same read, with a fraction or without; unset: not such a text.
[[nodiscard]] std::optional<std::int64_t> read_time(std::string_view text);

} // namespace cybele::bridge
