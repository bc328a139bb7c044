// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/check.hpp"

#include "cli/bridge/options.hpp"
#include "support/json.hpp"

#include <memory>

namespace cybele::cli {
namespace {

void print_finding(const Session& session, const bridge::CheckFinding& finding) {
    if (session.is_json()) {
        nlohmann::ordered_json line{{"what", finding.what}, {"ok", !finding.fault}};
        if (finding.fault) {
            line["id"] = finding.fault->id;
            line["error"] = finding.fault->message;
            line["because"] = finding.fault->because;
            line["help"] = finding.fault->help;
        }
        Session::print(json_text(line, -1) + "\n");
    } else if (!finding.fault) {
        Session::print("ok: " + finding.what + "\n");
    } else {
        session.note({*finding.fault});
    }
}

struct BridgeCheckOptions : BridgeOptions {
    bool probes = false;
};

Result<int> check_bridge_of(const Session& session, const BridgeCheckOptions& options) {
    CYBELE_TRY(const bridge::ServiceRequest request, service_request(session, options));
    int code = 0;
    bridge::check_bridge(request, options.probes, [&](const bridge::CheckFinding& finding) {
        print_finding(session, finding);
        if (finding.fault && code == 0) {
            code = static_cast<int>(finding.fault->code);
        }
    });
    return code;
}

} // namespace

void install_bridge_check(CLI::App& bridge, Session& session) {
    auto options = std::make_shared<BridgeCheckOptions>();
    CLI::App* verb =
        add_verb(bridge,
                 "check",
                 "Check configuration, rights and accounts, without changing anything.",
                 {"cybelectl bridge check --config bridge.yaml",
                  "cybelectl bridge check --probe",
                  "cybelectl bridge check --kubeconfig bridge.conf --format json"});
    add_bridge_config(*verb, *options);
    add_bridge_access(*verb, *options);
    verb->add_flag(
        "--probe", options->probes, "submit a held job as each account, find it and cancel it");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return check_bridge_of(session, *options); };
    });
}

} // namespace cybele::cli
