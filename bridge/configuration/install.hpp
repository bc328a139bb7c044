// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/configuration/configuration.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>

namespace cybele::bridge {

/// Of the RoleBindings that `bridge install` writes into the `namespaces` of a Bridge.
inline constexpr std::string_view kBindingFinalizer = "cybelectl.io/bridge";

struct InstallRequest {
    Configuration configuration;
    std::string bridge_text;              ///< the Bridge document as it is
    std::string site_text;                ///< the Site that it names
    std::string name_space = "cybelectl"; ///< of the bridge itself
    std::string image;                    ///< of the Deployment; empty: none is written
    bool has_two_pods = false;            ///< one waits for the Lease of the other
    bool has_flow_schema = false;         ///< a share of the API server's requests of its own
};

/// What an administrator applies so that the bridge can run: resource definitions, namespace,
/// account, rights without a wildcard, two admission policies, configuration and Deployment. The
/// same bytes for the same request.
[[nodiscard]] Result<std::string> install_manifest(const InstallRequest& request);

} // namespace cybele::bridge
