// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace cybele {

/// `count` random bytes from the kernel.
[[nodiscard]] std::string random_bytes(std::size_t count);
/// A random UUID (version 4), in text form.
[[nodiscard]] std::string random_uuid();

} // namespace cybele
