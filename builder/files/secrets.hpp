// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cybele::builder {

/// What makes a file a secret, by its name or its first bytes: "a private key", "a token",
/// "settings with secrets"; null: nothing does. `fd` is open for reading, or negative.
[[nodiscard]] const char* secret_in(std::string_view name, int fd, std::uint64_t bytes);

} // namespace cybele::builder
