// SPDX-License-Identifier: Apache-2.0
#include "cli/bridge/bridge.hpp"

#include "cli/bridge/options.hpp"
#include "submission/journal/journal.hpp"
#include "support/stamp.hpp"

#include <cerrno>

#include <sys/prctl.h>

namespace cybele::cli {

void add_bridge_config(CLI::App& verb, BridgeOptions& options) {
    verb.add_option("--config", options.config, "document of kind Bridge")
        ->type_name("FILE")
        ->capture_default_str();
}

void add_bridge_server(CLI::App& verb, BridgeOptions& options) {
    verb.add_option("--kubeconfig",
                    options.kubeconfig,
                    "access to the API server (default: KUBECONFIG, ~/.kube/config, or the "
                    "service account of the pod)")
        ->type_name("FILE");
    verb.add_option("--context", options.context, "context of the kubeconfig (default: current)")
        ->type_name("NAME");
}

void add_bridge_insecure(CLI::App& verb, BridgeOptions& options) {
    verb.add_flag("--insecure",
                  options.allows_insecure,
                  "accept a kubeconfig with insecure-skip-tls-verify: no server authentication");
}

void add_bridge_access(CLI::App& verb, BridgeOptions& options) {
    add_bridge_server(verb, options);
    verb.add_option("-n,--namespace",
                    options.name_space,
                    "namespace of the bridge itself (default: of the context)")
        ->type_name("NAME");
    add_bridge_insecure(verb, options);
}

Result<bridge::ServiceRequest> service_request(const Session& session,
                                               const BridgeOptions& options) {
    // Tokens are in memory: none gets into a core dump.
    if (::prctl(PR_SET_DUMPABLE, 0) != 0) { // NOLINT: prctl(2) is variadic
        return fail(system_error("cannot turn core dumps off", errno));
    }
    bridge::ServiceRequest request;
    CYBELE_TRY(request.configuration, bridge::read_configuration(options.config));
    request.access.kubeconfig = options.kubeconfig;
    request.access.context = options.context;
    request.access.allows_insecure = options.allows_insecure;
    request.name_space = options.name_space;
    request.is_once = options.is_once;
    request.environment = session.environment;
    request.program = session.program;
    request.sockets = submission::Journal::folder(session.environment) / "ssh";
    request.clock = nanoseconds_now;
    return request;
}

void install_bridge(CLI::App& app, Session& session) {
    CLI::App* bridge =
        add_verb(app,
                 "bridge",
                 "Run batch jobs for objects of a Kubernetes cluster.",
                 {"cybelectl bridge check --config bridge.yaml", "cybelectl bridge status"});
    bridge->require_subcommand(1);
    install_bridge_install(*bridge, session);
    install_bridge_check(*bridge, session);
    install_bridge_run(*bridge, session);
    install_bridge_status(*bridge, session);
    install_bridge_logs(*bridge, session);
    install_bridge_orphans(*bridge, session);
    install_bridge_accept(*bridge, session);
    install_bridge_forget(*bridge, session);
    install_bridge_collect(*bridge, session);
    install_bridge_answer(*bridge, session);
}

} // namespace cybele::cli
