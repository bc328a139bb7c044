// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/service.hpp"

#include <optional>

namespace cybele::bridge {

/// Submits a held job as the account of the row, finds it in the queue by its token, cancels it and
/// removes its record. Unset: all of it worked.
[[nodiscard]] std::optional<Fault> probe_account(const ServiceRequest& request,
                                                 const launchers::BridgeAccount& row);

} // namespace cybele::bridge
