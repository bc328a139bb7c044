// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/times.hpp"
#include "cli/bridge/options.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/stamp.hpp"

#include <memory>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::string line_of_text(const bridge::Transition& transition, const std::string& time) {
    std::string line = time;
    if (!transition.object.empty()) {
        line += " " + transition.object;
    }
    line += " " + transition.what;
    return transition.detail.empty() ? line + "\n"
                                     : line + ": " + printable(transition.detail) + "\n";
}

std::string line_of_json(const bridge::Transition& transition, const std::string& time) {
    nlohmann::ordered_json line{{"time", time}};
    if (!transition.object.empty()) {
        const std::size_t slash = transition.object.find('/');
        line["namespace"] = transition.object.substr(0, slash);
        line["name"] = transition.object.substr(slash + 1);
        line["uid"] = transition.uid;
    }
    line["event"] = transition.what;
    line["detail"] = transition.detail;
    return json_text(line, -1) + "\n";
}

Result<int> run_bridge(Session& session, const BridgeOptions& options) {
    CYBELE_TRY(bridge::ServiceRequest request, service_request(session, options));
    request.log = [&session](const bridge::Transition& transition) {
        const std::string time = bridge::time_text(nanoseconds_now() / kNanoseconds);
        // A reader that is gone does not end the bridge.
        (void)Session::try_print(session.is_json() ? line_of_json(transition, time)
                                                   : line_of_text(transition, time));
    };
    CYBELE_CHECK(bridge::run_service(request));
    return 0;
}

} // namespace

void install_bridge_run(CLI::App& bridge, Session& session) {
    auto options = std::make_shared<BridgeOptions>();
    CLI::App* verb =
        add_verb(bridge,
                 "run",
                 "Submit the jobs of objects and report their states, until interrupted.",
                 {"cybelectl bridge run --config bridge.yaml",
                  "cybelectl bridge run --kubeconfig admin.conf -n cybelectl --once",
                  "cybelectl bridge run --format json"});
    add_bridge_config(*verb, *options);
    add_bridge_access(*verb, *options);
    verb->add_flag("--once", options->is_once, "exit after one round over all objects");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return run_bridge(session, *options); };
    });
}

} // namespace cybele::cli
