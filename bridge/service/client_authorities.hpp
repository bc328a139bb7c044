// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/server/pump.hpp"

#include <optional>
#include <string>

namespace cybele::bridge {

/// Who signs certificates of the API server's clients, as it says to all that extend it, in PEM;
/// unset: it cannot be read.
[[nodiscard]] std::optional<std::string> client_authorities(Pump& pump);

} // namespace cybele::bridge
