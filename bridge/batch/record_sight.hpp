// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/view.hpp"
#include "submission/backends/backend.hpp"

#include <optional>
#include <string_view>

namespace cybele::bridge {

/// Reads what kSearchScript (record_scripts.hpp) printed. `commands` says what the batch system's
/// words mean. One that was cut, or is not of that form, was not read.
[[nodiscard]] RecordObservation
read_record(std::string_view text, const submission::Commands& commands, std::string_view uid);

} // namespace cybele::bridge
