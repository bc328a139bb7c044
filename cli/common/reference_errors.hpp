// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <optional>
#include <string>

namespace cybele::cli {

/// The error as Apptainer 1.4.5 words it, where programs that call it look for its words; nothing
/// for the others. `is_start`: the command starts a container.
[[nodiscard]] std::optional<std::string> reference_error_text(const Fault& fault, bool is_start);

} // namespace cybele::cli
