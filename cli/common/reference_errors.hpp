// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <optional>
#include <string>

namespace cybele::cli {

/// The error as Apptainer 1.4.5 words it, where programs that call it look for its words; nothing
/// for the others. `is_start`: the command starts a container.
[[nodiscard]] std::optional<std::string> reference_error_text(const Fault& fault, bool is_start);

/// What its client of registries says of a pull without the right login; the fault is about the
/// registry's address.
[[nodiscard]] std::string
unauthorized_answer(const Fault& fault, const std::string& repository, const std::string& tag);

} // namespace cybele::cli
