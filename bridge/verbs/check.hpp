// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/service.hpp"
#include "support/error.hpp"

#include <functional>
#include <optional>
#include <string>

namespace cybele::bridge {

/// One thing that the bridge needs.
struct CheckFinding {
    std::string what;           ///< "account alice by ssh login: commands can be run"
    std::optional<Fault> fault; ///< unset: it is as it must be
};

/// Checks rights and resource definition on the API server, and each way as each account. Changes
/// nothing, unless it `probes`: then each account submits a held job, which is found and cancelled.
/// Each finding is reported as soon as it is known.
void check_bridge(const ServiceRequest& request,
                  bool probes,
                  const std::function<void(const CheckFinding&)>& report);

} // namespace cybele::bridge
