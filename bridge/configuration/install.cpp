// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/install.hpp"

#include "bridge/configuration/findings.hpp"
#include "bridge/configuration/install_texts.hpp"
#include "bridge/configuration/limit_texts.hpp"
#include "kubernetes/objects/crd.hpp"
#include "kubernetes/objects/names.hpp"
#include "kubernetes/objects/yaml_tree.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
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
    rules += document.namespaces.empty()
                 ? ""
                 : fmt::format(kBindingRulesText, fmt::arg("name", document.name));
    const auto fill = [&](std::string_view form, const std::string& served) {
        return fmt::format(fmt::runtime(form),
                           fmt::arg("name", document.name),
                           fmt::arg("space", request.name_space),
                           fmt::arg("served", served),
                           fmt::arg("finalizer", kBindingFinalizer),
                           fmt::arg("rules", rules));
    };
    std::vector<std::string> texts{fill(kRoleText, {})};
    if (document.namespaces.empty()) {
        texts.push_back(fill(kClusterBindingText, {}));
    }
    for (const std::string& served : document.namespaces) {
        texts.push_back(fill(kBindingText, served));
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

/// The admission policies: of users, and of what the bridge itself may do with its rights.
std::vector<std::string> policies(const InstallRequest& request) {
    const launchers::Bridge& document = request.configuration.document;
    std::vector<std::string_view> forms{kPoliciesText};
    if (document.manages_jobs) {
        forms.insert(forms.end(), {kJobPolicyText, kJobLimitText});
    }
    if (document.virtual_nodes || !document.collector_image.empty()) {
        forms.push_back(kPodLimitText);
    }
    if (document.virtual_nodes) {
        forms.push_back(kNodeLimitText);
    }
    std::vector<std::string> texts;
    texts.reserve(forms.size());
    for (const std::string_view form : forms) {
        texts.push_back(fmt::format(fmt::runtime(form), fmt::arg("space", request.name_space)));
    }
    return texts;
}

std::string deployment(const InstallRequest& request) {
    const std::string& name = request.configuration.document.name;
    std::string placement;
    if (request.has_two_pods) {
        placement = fmt::format(kPlacementText, fmt::arg("name", name));
    }
    return fmt::format(kDeploymentText,
                       fmt::arg("space", request.name_space),
                       fmt::arg("name", name),
                       fmt::arg("image", request.image),
                       fmt::arg("replicas", request.has_two_pods ? 2 : 1),
                       fmt::arg("placement", placement));
}

Result<void> check(const InstallRequest& request) {
    if (!kubernetes::is_label_name(request.name_space)) {
        return fail(ErrorCode::kUsage,
                    problem("bridge-namespace-invalid",
                            "'" + printable(request.name_space) + "' is not a valid namespace"),
                    "a namespace has up to 63 lower-case letters, digits and hyphens",
                    "name another one with --namespace");
    }
    if (request.has_two_pods && request.image.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("bridge-pods-without-image", "--ha has no effect without --image"),
                    "without an image no Deployment is written",
                    "add --image, or start a second `cybelectl bridge run` elsewhere");
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
    std::vector<Fault> refused = refused_fields(request.configuration);
    if (!request.image.empty()) {
        std::vector<Fault> more = refused_in_pod(request.configuration);
        refused.insert(refused.end(), more.begin(), more.end());
    }
    return refused.empty() ? Result<void>() : fail(Error(std::move(refused)));
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
    for (std::string& text : policies(request)) {
        texts.push_back(std::move(text));
    }
    CYBELE_TRY(std::string map, config_map(request));
    texts.push_back(std::move(map));
    if (request.has_flow_schema) {
        texts.push_back(fmt::format(kFlowText, fmt::arg("space", request.name_space)));
    }
    if (!request.image.empty()) {
        texts.push_back(deployment(request));
    }
    return text::joined(texts, "---\n");
}

} // namespace cybele::bridge
