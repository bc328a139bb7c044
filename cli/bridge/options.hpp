// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/service.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"

#include <string>

namespace cybele::cli {

/// What every verb of `bridge` that speaks to the API server takes.
struct BridgeOptions {
    std::string config = "bridge.yaml";
    std::string kubeconfig;
    std::string context;
    std::string name_space;
    bool allows_insecure = false;
    bool is_once = false;
};

void add_bridge_config(CLI::App& verb, BridgeOptions& options);
void add_bridge_server(CLI::App& verb, BridgeOptions& options);
void add_bridge_insecure(CLI::App& verb, BridgeOptions& options);
/// Both, and the namespace of the bridge.
void add_bridge_access(CLI::App& verb, BridgeOptions& options);

/// The configuration, access and clock of a call.
[[nodiscard]] Result<bridge::ServiceRequest> service_request(const Session& session,
                                                             const BridgeOptions& options);

void install_bridge_accept(CLI::App& bridge, Session& session);
void install_bridge_answer(CLI::App& bridge, Session& session);
void install_bridge_check(CLI::App& bridge, Session& session);
void install_bridge_collect(CLI::App& bridge, Session& session);
void install_bridge_forget(CLI::App& bridge, Session& session);
void install_bridge_install(CLI::App& bridge, Session& session);
void install_bridge_logs(CLI::App& bridge, Session& session);
void install_bridge_orphans(CLI::App& bridge, Session& session);
void install_bridge_status(CLI::App& bridge, Session& session);
void install_bridge_run(CLI::App& bridge, Session& session);

} // namespace cybele::cli
