// SPDX-License-Identifier: Apache-2.0
#include "recipes/tables/tables.hpp"

namespace cybele::recipes {
namespace {

constexpr ManagerRow kManagers[] = {
    {"apt",
     "export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8\napt-get update\n",
     "apt-get install -y --no-install-recommends",
     "=",
     "apt-get clean\nrm -rf /var/lib/apt/lists/*\n",
     "apt-get install -y"},
    {"dnf",
     "export LC_ALL=C.UTF-8\n",
     "dnf install -y --setopt=install_weak_deps=False --nodocs",
     "-",
     "dnf clean all\nrm -rf /var/cache/dnf\n",
     "dnf install -y"},
    {"microdnf",
     "export LC_ALL=C.UTF-8\n",
     "microdnf -y install --nodocs --setopt=install_weak_deps=0",
     "-",
     "microdnf clean all\n",
     "microdnf -y install"},
    {"yum",
     "export LC_ALL=C\n",
     "yum install -y --setopt=tsflags=nodocs",
     "-",
     "yum clean all\nrm -rf /var/cache/yum\n",
     "yum install -y"},
    {"zypper",
     "export LC_ALL=C.UTF-8\nzypper --non-interactive --gpg-auto-import-keys refresh\n",
     "zypper --non-interactive install --no-recommends",
     "=",
     "zypper clean --all\n",
     "zypper --non-interactive install"},
    {"apk", "export LC_ALL=C.UTF-8\n", "apk add --no-cache", "=", "", "apk add --no-cache"},
};

constexpr RepositoryRow kRepositories[] = {
    {"el8",
     "crb epel",
     "dnf install -y dnf-plugins-core epel-release\ndnf config-manager --set-enabled powertools\n"},
    {"el9",
     "crb epel",
     "dnf install -y dnf-plugins-core epel-release\ndnf config-manager --set-enabled crb\n"},
    {"el10",
     "crb epel",
     "dnf install -y dnf-plugins-core epel-release\ndnf config-manager --set-enabled crb\n"},
};

} // namespace

std::span<const ManagerRow> managers() {
    return kManagers;
}

std::span<const RepositoryRow> repositories() {
    return kRepositories;
}

const ManagerRow* find_manager(std::string_view name) {
    for (const auto& row : kManagers) {
        if (row.name == name) {
            return &row;
        }
    }
    return nullptr;
}

const RepositoryRow* find_repository(std::string_view column) {
    for (const auto& row : kRepositories) {
        if (row.column == column) {
            return &row;
        }
    }
    return nullptr;
}

} // namespace cybele::recipes
