// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/install.hpp"

#include "bridge/configuration/findings.hpp"
#include "bridge/service/server_session.hpp"
#include "bridge/verbs/apply.hpp"
#include "cli/bridge/options.hpp"
#include "support/file.hpp"

#include <memory>
#include <utility>

namespace cybele::cli {
namespace {

struct InstallOptions : BridgeOptions {
    std::string image;
    std::string output = "-";
    bool has_two_pods = false;
    bool has_flow_schema = false;
    bool applies = false;
};

/// As its readers see it: yaml allows a byte order mark and the line ends of Windows.
std::string plain_text(std::string text) {
    if (text.starts_with("\xef\xbb\xbf")) {
        text.erase(0, 3);
    }
    for (std::size_t at = text.find("\r\n"); at != std::string::npos; at = text.find("\r\n", at)) {
        text.erase(at, 1);
    }
    return text;
}

Result<void> apply(const Session& session, const InstallOptions& options, const std::string& text) {
    CYBELE_TRY(const bridge::ServiceRequest request, service_request(session, options));
    CYBELE_TRY(const auto server, bridge::ServerSession::open(request));
    return bridge::apply_manifest(
        *server, text, [](const std::string& name) { Session::print(name + " applied\n"); });
}

Result<int> print_manifest(const Session& session, const InstallOptions& options) {
    bridge::InstallRequest request;
    CYBELE_TRY(request.configuration, bridge::read_configuration(options.config));
    CYBELE_TRY(request.bridge_text,
               read_file(options.config).map_error(during("reading the Bridge")));
    CYBELE_TRY(request.site_text,
               read_file(request.configuration.document.site)
                   .map_error(during("reading the Site of the bridge")));
    request.bridge_text = plain_text(std::move(request.bridge_text));
    request.site_text = plain_text(std::move(request.site_text));
    request.name_space = options.name_space;
    request.image = options.image;
    request.has_two_pods = options.has_two_pods;
    request.has_flow_schema = options.has_flow_schema;
    CYBELE_TRY(const std::string text, bridge::install_manifest(request));
    session.note(bridge::install_notes(request));
    if (options.applies) {
        CYBELE_CHECK(apply(session, options, text));
    } else {
        CYBELE_CHECK(write_file(options.output, text));
    }
    return 0;
}

} // namespace

void install_bridge_install(CLI::App& bridge, Session& session) {
    auto options = std::make_shared<InstallOptions>();
    options->name_space = "cybelectl";
    CLI::App* verb = add_verb(
        bridge,
        "install",
        "Print the manifests that an administrator applies for the bridge.",
        {"cybelectl bridge install --config bridge.yaml | kubectl apply -f -",
         "cybelectl bridge install --image registry.example.org/cybelectl:1.0 -o bridge.yml"});
    add_bridge_config(*verb, *options);
    verb->add_option("-n,--namespace", options->name_space, "namespace of the bridge itself")
        ->type_name("NAME")
        ->capture_default_str();
    verb->add_option(
            "--image",
            options->image,
            "container image with cybelectl; unset: no Deployment, the bridge runs elsewhere")
        ->type_name("IMAGE");
    verb->add_flag(
        "--ha", options->has_two_pods, "two pods, of which the second waits for the first's Lease");
    verb->add_flag("--flow-schema",
                   options->has_flow_schema,
                   "add a FlowSchema: a queue of requests of its own on the API server");
    CLI::Option* output = verb->add_option("-o,--output",
                                           options->output,
                                           "output file (default: -, standard output)")
                              ->type_name("FILE");
    verb->add_flag("--apply", options->applies, "apply them to the API server instead")
        ->excludes(output);
    add_bridge_server(*verb, *options);
    add_bridge_insecure(*verb, *options);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return print_manifest(session, *options)
                .map_error(during("writing the Deployment of the bridge"));
        };
    });
}

} // namespace cybele::cli
