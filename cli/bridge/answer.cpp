// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/answer.hpp"

#include "cli/bridge/options.hpp"
#include "support/signals.hpp"

#include <iostream>
#include <memory>

namespace cybele::cli {
namespace {

Result<int> answer_listener(const Session& session, const BridgeOptions& options) {
    CYBELE_TRY(const bridge::ServiceRequest service, service_request(session, options));
    std::string line;
    std::getline(std::cin, line);
    CYBELE_TRY(const bridge::ListenerRequest request, bridge::read_listener_request(line));
    SignalWatch signals;
    bool was_interrupted = false;
    bridge::answer_request(
        service,
        request,
        [](std::string_view text) { return Session::try_print(text).has_value(); },
        [&] {
            was_interrupted = was_interrupted || signals.take().has_value();
            return was_interrupted;
        });
    return 0;
}

} // namespace

void install_bridge_answer(CLI::App& bridge, Session& session) {
    auto options = std::make_shared<BridgeOptions>();
    CLI::App* verb = add_verb(bridge,
                              "answer",
                              "Answer one request of the listener; started by `bridge run`.",
                              {"cybelectl bridge answer --config bridge.yaml",
                               "cybelectl bridge answer --kubeconfig bridge.conf -n cybelectl"});
    add_bridge_config(*verb, *options);
    add_bridge_access(*verb, *options);
    verb->callback([&session, options] {
        session.action = [&session, options] { return answer_listener(session, *options); };
    });
}

} // namespace cybele::cli
