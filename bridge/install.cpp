// SPDX-License-Identifier: Apache-2.0
#include "bridge/install.hpp"

#include "bridge/install_texts.hpp"
#include "kubernetes/objects/crd.hpp"
#include "kubernetes/objects/names.hpp"
#include "kubernetes/objects/yaml_tree.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <vector>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

using kubernetes::Tree;

Result<std::string> config_map(const InstallRequest& request) {
    const std::string site = request.configuration.document.site.filename().native();
    return kubernetes::write_yaml(
        Tree::Map{{"apiVersion", "v1"},
                  {"kind", "ConfigMap"},
                  {"metadata",
                   Tree::Map{{"name", "cybelectl-bridge-" + request.configuration.document.name},
                             {"namespace", request.name_space}}},
                  {"data",
                   Tree::Map{{"bridge.yaml", Tree::Block{request.bridge_text}},
                             {site, Tree::Block{request.site_text}}}}});
}

std::vector<std::string> rights(const InstallRequest& request) {
    const launchers::Bridge& document = request.configuration.document;
    const std::string plural = text::lowered(kind_text(request.configuration.site.kind)) + "s";
    std::string rules = fmt::format(kRulesText, fmt::arg("plural", plural));
    rules += document.manages_jobs ? kJobRulesText : "";
    rules += document.virtual_nodes ? kPodRulesText : "";
    rules += document.collector_image.empty() ? "" : kCollectorRulesText;
    const auto fill = [&](std::string_view form, const std::string& served) {
        return fmt::format(fmt::runtime(form),
                           fmt::arg("name", document.name),
                           fmt::arg("space", request.name_space),
                           fmt::arg("served", served),
                           fmt::arg("rules", rules));
    };
    std::vector<std::string> texts;
    if (document.namespaces.empty()) {
        texts.push_back(fill(kClusterRoleText, {}));
    }
    for (const std::string& served : document.namespaces) {
        texts.push_back(fill(kRoleText, served));
    }
    texts.push_back(fill(kLeaseRoleText, {}));
    if (document.virtual_nodes) {
        texts.push_back(fill(kNodeRoleText, {}));
    }
    if (document.listen) {
        texts.push_back(fill(kListenerRoleText, {}));
    }
    return texts;
}

Result<void> check(const InstallRequest& request) {
    if (!kubernetes::is_label_name(request.name_space)) {
        return fail(ErrorCode::kUsage,
                    problem("bridge-namespace-invalid",
                            "'" + printable(request.name_space) + "' is not a valid namespace"),
                    "a namespace has up to 63 lower-case letters, digits and hyphens",
                    "name another one with --namespace");
    }
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";
    if (request.image.find_first_not_of(kLetters) != std::string::npos) {
        return fail(ErrorCode::kUsage,
                    problem("bridge-image-invalid",
                            "'" + printable(request.image) + "' is not a valid image"),
                    "an image of a container has letters, digits and ._-/:@",
                    "write it like REGISTRY/NAME:TAG");
    }
    const std::string site = request.configuration.document.site.filename().native();
    if (request.configuration.document.site.parent_path() !=
        std::filesystem::path(request.configuration.file).parent_path()) {
        return fail(
            ErrorCode::kInput,
            problem("bridge-site-elsewhere", "the Site is in another folder than the Bridge"),
            "both become files of one folder in the Deployment",
            "copy " + printable(site) + " next to the Bridge, and write `site: " + printable(site) +
                "`");
    }
    return {};
}

} // namespace

Result<std::string> install_manifest(const InstallRequest& request) {
    CYBELE_CHECK(check(request));
    std::vector<std::string> texts;
    for (const std::string& kind : kubernetes::crd_names()) {
        CYBELE_TRY(std::string crd, kubernetes::crd(kind, {}));
        texts.push_back(std::move(crd));
    }
    texts.push_back(fmt::format(kAccountText, fmt::arg("space", request.name_space)));
    for (std::string& text : rights(request)) {
        texts.push_back(std::move(text));
    }
    texts.push_back(fmt::format(kPoliciesText, fmt::arg("space", request.name_space)));
    if (request.configuration.document.manages_jobs) {
        texts.push_back(fmt::format(kJobPolicyText, fmt::arg("space", request.name_space)));
    }
    CYBELE_TRY(std::string map, config_map(request));
    texts.push_back(std::move(map));
    if (!request.image.empty()) {
        texts.push_back(fmt::format(kDeploymentText,
                                    fmt::arg("space", request.name_space),
                                    fmt::arg("name", request.configuration.document.name),
                                    fmt::arg("image", request.image)));
    }
    return text::joined(texts, "---\n");
}

} // namespace cybele::bridge
