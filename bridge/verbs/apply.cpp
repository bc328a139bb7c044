// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/apply.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <iterator>

namespace cybele::bridge {
namespace {

struct AppliedKind {
    std::string_view kind;
    std::string_view plural;
    bool has_namespace;
};
constexpr AppliedKind kApplied[] = {
    {"ClusterRole", "clusterroles", false},
    {"ClusterRoleBinding", "clusterrolebindings", false},
    {"ConfigMap", "configmaps", true},
    {"CustomResourceDefinition", "customresourcedefinitions", false},
    {"Deployment", "deployments", true},
    {"FlowSchema", "flowschemas", false},
    {"Namespace", "namespaces", false},
    {"PriorityLevelConfiguration", "prioritylevelconfigurations", false},
    {"Role", "roles", true},
    {"RoleBinding", "rolebindings", true},
    {"ServiceAccount", "serviceaccounts", true},
    {"ValidatingAdmissionPolicy", "validatingadmissionpolicies", false},
    {"ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", false},
};

/// The rest of the first line that begins so: install_manifest() writes these fields in this way.
std::string after(std::string_view document, std::string_view beginning) {
    for (const std::string_view line : text::split(document, '\n')) {
        if (line.starts_with(beginning)) {
            return std::string(line.substr(beginning.size()));
        }
    }
    return {};
}

std::string base_of(const std::string& version) {
    return (version.find('/') == std::string::npos ? "/api/" : "/apis/") + version;
}

std::vector<std::string> documents_of(std::string_view manifest) {
    std::vector<std::string> documents(1);
    for (const std::string_view line : text::split(manifest, '\n')) {
        if (line == "---") {
            documents.emplace_back();
        } else {
            documents.back().append(line).append("\n");
        }
    }
    return documents;
}

} // namespace

Applied applied_of(std::string_view document) {
    const std::string kind = after(document, "kind: ");
    const auto* const row = std::ranges::find(kApplied, kind, &AppliedKind::kind);
    if (row == std::end(kApplied)) {
        return {};
    }
    const std::string name = after(document, "  name: ");
    std::string path = base_of(after(document, "apiVersion: "));
    if (row->has_namespace) {
        path += "/namespaces/" + after(document, "  namespace: ");
    }
    path += "/" + std::string(row->plural) + "/" + name;
    return {kind + "/" + name, path};
}

Result<void> apply_manifest(ServerSession& server,
                            std::string_view manifest,
                            const std::function<void(const std::string&)>& report) {
    for (std::string& document : documents_of(manifest)) {
        const Applied applied = applied_of(document);
        CYBELE_CHECK(server.patch("applying " + applied.name,
                                  applied.path + "?fieldManager=cybelectl&force=true",
                                  "application/apply-patch+yaml",
                                  std::move(document)));
        report(applied.name);
    }
    return {};
}

} // namespace cybele::bridge
