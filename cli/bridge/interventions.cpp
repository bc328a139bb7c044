// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/interventions.hpp"

#include "cli/bridge/options.hpp"

#include <memory>

namespace cybele::cli {
namespace {

struct ObjectOptions : BridgeOptions {
    std::string object;
};

void add_object(CLI::App& verb, ObjectOptions& options) {
    verb.add_option("object", options.object, "the object, as NAMESPACE/NAME")
        ->type_name("NAMESPACE/NAME")
        ->required();
    add_bridge_config(verb, options);
    add_bridge_access(verb, options);
}

Result<int> accept(const Session& session, const ObjectOptions& options) {
    CYBELE_TRY(const bridge::ServiceRequest request, service_request(session, options));
    CYBELE_CHECK(bridge::accept_object(request, options.object));
    Session::print(options.object + " accepted\n");
    return 0;
}

Result<int> forget(const Session& session, const ObjectOptions& options) {
    CYBELE_TRY(const bridge::ServiceRequest request, service_request(session, options));
    CYBELE_TRY(const bridge::Object object, bridge::forget_object(request, options.object));
    Session::print(options.object + " forgotten" +
                   (object.status.job_id.empty()
                        ? "\n"
                        : "; job " + object.status.job_id + " of " + object.status.account +
                              " may still exist\n"));
    return 0;
}

} // namespace

void install_bridge_accept(CLI::App& bridge, Session& session) {
    auto options = std::make_shared<ObjectOptions>();
    CLI::App* verb = add_verb(
        bridge,
        "accept",
        "Accept an object that is older than the records of jobs.",
        {"cybelectl bridge accept physics/lolcow",
         "cybelectl bridge accept --config bridge.yaml --kubeconfig admin.conf physics/a"});
    add_object(*verb, *options);
    verb->callback([&session, options] {
        session.action = [&session, options] { return accept(session, *options); };
    });
}

void install_bridge_forget(CLI::App& bridge, Session& session) {
    auto options = std::make_shared<ObjectOptions>();
    CLI::App* verb = add_verb(
        bridge,
        "forget",
        "Release a deleted object whose job cannot be proven to have ended.",
        {"cybelectl bridge forget physics/lolcow",
         "cybelectl bridge forget --config bridge.yaml --kubeconfig admin.conf physics/a"});
    add_object(*verb, *options);
    verb->callback([&session, options] {
        session.action = [&session, options] { return forget(session, *options); };
    });
}

} // namespace cybele::cli
