// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/batch/cluster.hpp"
#include "bridge/verbs/check.hpp"

#include <functional>

namespace cybele::bridge {

/// Reports the jobs of this Bridge's accounts that other Bridges handed over, at this API server or
/// at another one. One of the same name is an error: only the Lease tells the two apart.
void check_owners(const ServiceRequest& request,
                  const Poll& poll,
                  const std::function<void(const CheckFinding&)>& report);

} // namespace cybele::bridge
