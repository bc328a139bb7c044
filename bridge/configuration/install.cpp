// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/install.hpp"

#include "bridge/configuration/install_texts.hpp"
#include "kubernetes/objects/crd.hpp"
#include "kubernetes/objects/names.hpp"
#include "kubernetes/objects/yaml_tree.hpp"
#include "support/document.hpp"
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
    return {};
}

/// A warning at a field of the Bridge.
class Notes {
public:
    explicit Notes(const launchers::Bridge& document) : document_(document) {}

    void add(const std::string& path, Problem what, std::string because, std::string help) {
        notes_.push_back(document::fault_at(document_.source,
                                            document::mark_of(document_.marks, path),
                                            std::move(what),
                                            std::move(because),
                                            std::move(help)));
        notes_.back().is_warning = true;
    }
    [[nodiscard]] std::vector<Fault> take() {
        return std::move(notes_);
    }

private:
    const launchers::Bridge& document_;
    std::vector<Fault> notes_;
};

constexpr std::string_view kKeysFolder = "/etc/cybelectl-keys";

/// A pod has the keys of the Secret, and no commands of a batch system.
void note_way(const launchers::BridgeWay& way, const std::string& path, Notes& notes) {
    if (way.ssh.empty() && way.slurmrestd.empty()) {
        notes.add(path,
                  problem("bridge-commands-in-pod", "the pod has no commands of a batch system"),
                  "with --image the bridge runs in a container",
                  "write `way: {ssh: USER@HOST, key: " + std::string(kKeysFolder) + "/USER}`");
        return;
    }
    const std::string folder = way.key.parent_path().native();
    if (!way.key.empty() && folder != kKeysFolder) {
        const std::string name = printable(way.key.filename().native());
        notes.add(
            path + ".key",
            problem("bridge-key-not-in-pod", "the pod has no file '" + name + "' there"),
            "the Deployment mounts the Secret of the keys at " + std::string(kKeysFolder),
            fmt::format("write `key: {}/{}`, and add the file to the Secret", kKeysFolder, name));
    }
}

} // namespace

std::vector<Fault> install_notes(const InstallRequest& request) {
    const launchers::Bridge& document = request.configuration.document;
    Notes notes(document);
    for (std::size_t at = 0; at < document.accounts.size(); ++at) {
        const launchers::BridgeAccount& row = document.accounts[at];
        const std::string path = fmt::format("accounts[{}]", at);
        if (row.account == "root") {
            notes.add(path + ".account",
                      problem("bridge-account-root", "jobs would run as root"),
                      "whoever may create objects in the namespace would be root on the cluster",
                      "name an ordinary account");
        }
        if (!document.namespaces.empty() &&
            std::find(document.namespaces.begin(), document.namespaces.end(), row.name_space) ==
                document.namespaces.end()) {
            notes.add(path + ".namespace",
                      problem("bridge-account-not-served",
                              "namespace '" + printable(row.name_space) + "' is not served"),
                      "`namespaces` does not list it",
                      "add it to `namespaces`, or remove this row");
        }
        if (!request.image.empty()) {
            note_way(row.way, path + ".way", notes);
        }
    }
    if (!request.image.empty() && document.reader) {
        note_way(*document.reader, "reader", notes);
    }
    return notes.take();
}

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
    if (request.has_flow_schema) {
        texts.push_back(fmt::format(kFlowText, fmt::arg("space", request.name_space)));
    }
    if (!request.image.empty()) {
        texts.push_back(deployment(request));
    }
    return text::joined(texts, "---\n");
}

} // namespace cybele::bridge
