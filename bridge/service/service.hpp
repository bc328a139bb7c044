// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/access.hpp"
#include "bridge/configuration/configuration.hpp"
#include "bridge/objects/transition.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace cybele::bridge {

struct ServiceRequest {
    Configuration configuration;
    apiserver::AccessOptions access;
    std::string name_space; ///< of the Lease; empty: as the access says
    bool is_once = false;   ///< one round, then the end
    Environment environment;
    std::filesystem::path program;       ///< this one, next to which the HTTP helper is
    std::filesystem::path sockets;       ///< folder of ssh connections that are kept
    std::function<std::int64_t()> clock; ///< Unix nanoseconds
    TransitionLog log;
};

/// Carries objects and jobs until TERM or INT. Nothing is cancelled at the end; the Lease is given
/// back. After HUP, or a change of its files, it begins again with the new configuration, unless
/// that is not valid. kEnvironment where the API server cannot be reached at all.
[[nodiscard]] Result<void> run_service(const ServiceRequest& request);

} // namespace cybele::bridge
