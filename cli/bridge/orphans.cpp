// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/orphans.hpp"

#include "cli/bridge/options.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <memory>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

struct OrphansOptions : BridgeOptions {
    bool cancels = false;
};

void print_orphan(const Session& session, const bridge::Orphan& orphan) {
    if (session.is_json()) {
        const nlohmann::ordered_json line{{"job", orphan.id},
                                          {"account", orphan.account},
                                          {"state", orphan.state},
                                          {"object", orphan.object},
                                          {"uid", orphan.uid}};
        Session::print(json_text(line, -1) + "\n");
        return;
    }
    Session::print(fmt::format("job {} of {}, {}, of {}, uid {}\n",
                               orphan.id,
                               orphan.account,
                               printable(orphan.state),
                               orphan.object.empty() ? "an unknown object" : orphan.object,
                               orphan.uid));
}

Result<int> show_orphans(const Session& session, const OrphansOptions& options) {
    CYBELE_TRY(const bridge::ServiceRequest request, service_request(session, options));
    CYBELE_TRY(const auto orphans, bridge::find_orphans(request));
    for (const bridge::Orphan& orphan : orphans) {
        print_orphan(session, orphan);
    }
    if (!options.cancels || orphans.empty()) {
        return 0;
    }
    CYBELE_TRY(const auto left, bridge::cancel_orphans(request, orphans));
    if (!left.empty()) {
        return fail(
            ErrorCode::kExecution,
            problem("bridge-orphans-left",
                    fmt::format("{} of {} jobs have not ended", left.size(), orphans.size())),
            fmt::format(
                "the queue still shows job {} of {}", left.front().id, left.front().account),
            "see with `cybelectl bridge orphans` whether they end later");
    }
    if (!session.is_json()) {
        Session::print(fmt::format("{} cancelled\n", orphans.size()));
    }
    return 0;
}

} // namespace

void install_bridge_orphans(CLI::App& bridge, Session& session) {
    auto options = std::make_shared<OrphansOptions>();
    CLI::App* verb = add_verb(bridge,
                              "orphans",
                              "List jobs of the bridge whose object does not exist any more.",
                              {"cybelectl bridge orphans --config bridge.yaml",
                               "cybelectl bridge orphans --cancel",
                               "cybelectl bridge orphans --format json"});
    add_bridge_config(*verb, *options);
    add_bridge_access(*verb, *options);
    verb->add_flag("--cancel", options->cancels, "cancel them, and wait until they have ended");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return show_orphans(session, *options); };
    });
}

} // namespace cybele::cli
