// SPDX-License-Identifier: Apache-2.0
#include "bridge/nodes/collect.hpp"

#include "bridge/service/server_session.hpp"
#include "cli/bridge/options.hpp"
#include "support/quote.hpp"

#include <memory>

namespace cybele::cli {
namespace {

Result<int> collect(const Session& session, bridge::CollectRequest request) {
    if (!bridge::is_place_text(request.place)) {
        return fail(ErrorCode::kUsage,
                    problem("bridge-object-name-invalid",
                            "'" + printable(request.place) + "' is not the name of an object"),
                    "an object is named as NAMESPACE/NAME",
                    "write it like physics/lolcow");
    }
    if (!request.from.starts_with("https://")) {
        return fail(
            ErrorCode::kUsage,
            problem("collect-url-invalid", "'" + printable(request.from) + "' is not an https URL"),
            "the token of the pod is sent to it",
            "write it like https://10.1.2.3:10250");
    }
    request.environment = session.environment;
    request.program = session.program;
    CYBELE_TRY(const std::size_t count, bridge::collect_results(request));
    Session::print(std::to_string(count) + (count == 1 ? " file" : " files") + " collected\n");
    return 0;
}

} // namespace

void install_bridge_collect(CLI::App& bridge, Session& session) {
    auto request = std::make_shared<bridge::CollectRequest>();
    CLI::App* verb = add_verb(
        bridge,
        "collect",
        "Copy the results of an object into a folder; for collector pods.",
        {"cybelectl bridge collect --from https://10.1.2.3:10250 --token token "
         "--certificate certificate.pem physics/lolcow /results",
         "cybelectl bridge collect --from https://10.1.2.3:10250 --token token "
         "--certificate certificate.pem --report /dev/termination-log physics/a /results"});
    verb->add_option("object", request->place, "the object, as NAMESPACE/NAME")
        ->type_name("NAMESPACE/NAME")
        ->required();
    verb->add_option("folder", request->target, "where the files are stored")
        ->type_name("FOLDER")
        ->required();
    verb->add_option("--from", request->from, "address of the bridge")
        ->type_name("URL")
        ->required();
    verb->add_option("--token", request->token, "file with the token of the pod")
        ->type_name("FILE")
        ->required();
    verb->add_option("--certificate", request->certificate, "PEM file that proves the bridge")
        ->type_name("FILE")
        ->required();
    verb->add_option("--report", request->report, "file for the list of what was copied")
        ->type_name("FILE");
    verb->callback([&session, request] {
        session.action = [&session, request] { return collect(session, *request); };
    });
}

} // namespace cybele::cli
