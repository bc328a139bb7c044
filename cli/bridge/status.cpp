// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/times.hpp"
#include "bridge/service/liveness.hpp"
#include "bridge/verbs/overview.hpp"
#include "cli/bridge/options.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <memory>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

std::string text_of_overview(const bridge::Overview& overview) {
    std::string text = overview.holder.empty()
                           ? fmt::format("leader: none, no bridge holds the Lease {}; -n NAME "
                                         "looks in another namespace\n",
                                         printable(overview.lease))
                           : fmt::format("leader: {}, renewed {}\n",
                                         printable(overview.holder),
                                         bridge::time_text(overview.renewed));
    text += fmt::format("objects: {}\n", overview.objects);
    for (const auto& [phase, count] : overview.phases) {
        text += fmt::format("  {}: {}\n", printable(phase), count);
    }
    for (const auto& [reason, count] : overview.waits) {
        text += fmt::format("not accepted, {}: {}\n", printable(reason), count);
    }
    return text;
}

std::string json_of_overview(const bridge::Overview& overview) {
    const nlohmann::ordered_json json{{"leader", overview.holder},
                                      {"renewed", bridge::time_text(overview.renewed)},
                                      {"objects", overview.objects},
                                      {"phases", overview.phases},
                                      {"not-accepted", overview.waits}};
    return json_text(json, -1) + "\n";
}

struct BridgeStatusOptions : BridgeOptions {
    bool asks_life = false;
};

Result<int> show_status(const Session& session, const BridgeStatusOptions& options) {
    CYBELE_TRY(const bridge::ServiceRequest request, service_request(session, options));
    if (options.asks_life) {
        CYBELE_CHECK(bridge::check_liveness(request));
        return 0;
    }
    CYBELE_TRY(const bridge::Overview overview, bridge::read_overview(request));
    Session::print(session.is_json() ? json_of_overview(overview) : text_of_overview(overview));
    return overview.holder.empty() ? static_cast<int>(ErrorCode::kExecution) : 0;
}

} // namespace

void install_bridge_status(CLI::App& bridge, Session& session) {
    auto options = std::make_shared<BridgeStatusOptions>();
    CLI::App* verb = add_verb(bridge,
                              "status",
                              "Show which bridge leads and how many objects are in which state.",
                              {"cybelectl bridge status --config bridge.yaml",
                               "cybelectl bridge status --format json | jq .phases"});
    add_bridge_config(*verb, *options);
    add_bridge_access(*verb, *options);
    verb->add_flag("--alive",
                   options->asks_life,
                   "only check that `bridge run` works on this machine, without a request");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return show_status(session, *options).map_error(during("reading what the bridge does"));
        };
    });
}

} // namespace cybele::cli
