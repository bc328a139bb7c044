// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <vector>

namespace cybele {

/// A fault as a person reads it:
///
///     error: unknown field 'tsks'
///      --> job.yaml:4:3
///       |   tsks: 4
///       |   ^
///     because: …
///     help: …
///
/// Control characters in users' text are shown escaped. `is_coloured`: with ANSI colours;
/// `has_id`: `error[field-unknown]: …`.
[[nodiscard]] std::string
format_text(const Fault& fault, bool is_coloured = false, bool has_id = false);
[[nodiscard]] std::string format_text(const std::vector<Fault>& faults, bool is_coloured = false);

/// The same as one JSON document: {"format":1,"faults":[{severity, code, id, message, file, line,
/// column, text, because, help, context}]}; keys are sorted, empty ones left out.
[[nodiscard]] std::string format_json(const std::vector<Fault>& faults);

} // namespace cybele
