// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/logs.hpp"

#include "cli/bridge/options.hpp"
#include "support/json.hpp"
#include "support/signals.hpp"

#include <memory>

namespace cybele::cli {
namespace {

struct BridgeLogsOptions : BridgeOptions {
    std::string object;
    bool is_errors = false;
    bool follows = false;
};

Result<int> print_bridge_logs(const Session& session, const BridgeLogsOptions& options) {
    CYBELE_TRY(const bridge::ServiceRequest service, service_request(session, options));
    SignalWatch signals;
    bridge::LogsRequest request;
    request.place = options.object;
    request.is_errors = options.is_errors;
    request.follows = options.follows;
    bool was_interrupted = false;
    request.is_interrupted = [&] {
        was_interrupted = was_interrupted || signals.take().has_value();
        return was_interrupted;
    };
    request.print = [&](std::string_view text) {
        if (!session.is_json()) {
            return Session::try_print(text).has_value();
        }
        const nlohmann::ordered_json line{{"stream", options.is_errors ? "stderr" : "stdout"},
                                          {"text", text}};
        return Session::try_print(json_text(line, -1) + "\n").has_value();
    };
    CYBELE_CHECK(bridge::show_logs(service, request));
    return 0;
}

} // namespace

void install_bridge_logs(CLI::App& bridge, Session& session) {
    auto options = std::make_shared<BridgeLogsOptions>();
    CLI::App* verb = add_verb(bridge,
                              "logs",
                              "Print the output of an object's job.",
                              {"cybelectl bridge logs physics/lolcow",
                               "cybelectl bridge logs --follow --stderr physics/lolcow"});
    verb->add_option("object", options->object, "the object, as NAMESPACE/NAME")
        ->type_name("NAMESPACE/NAME")
        ->required();
    add_bridge_config(*verb, *options);
    add_bridge_access(*verb, *options);
    verb->add_flag("-f,--follow", options->follows, "print new lines until the job has ended");
    verb->add_flag("--stderr", options->is_errors, "standard error instead of standard output");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return print_bridge_logs(session, *options); };
    });
}

} // namespace cybele::cli
