// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/findings.hpp"

#include "bridge/configuration/field_faults.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

/// USER of USER@HOST; empty where ssh decides.
std::string user_of(const std::string& login) {
    constexpr std::string_view kScheme = "ssh://";
    const std::string rest = login.starts_with(kScheme) ? login.substr(kScheme.size()) : login;
    const std::size_t at = rest.rfind('@');
    return at == std::string::npos ? std::string() : rest.substr(0, at);
}

std::string host_of_login(const std::string& login) {
    return printable(login.substr(login.rfind('@') + 1));
}

/// Whether that user can be the account: also `alice@domain` and `DOMAIN\alice`, which some sites
/// map to alice.
bool can_be(const std::string& user, const std::string& account) {
    return user == account || user.starts_with(account + "@") || user.ends_with("\\" + account) ||
           user.ends_with("+" + account);
}

void refuse_login(const launchers::BridgeAccount& row, const std::string& path, FieldFaults& into) {
    const std::string user = user_of(row.way.ssh);
    if (user.empty()) {
        return;
    }
    if (row.way.uses_sudo && user == "root") {
        into.add(path,
                 problem("bridge-login-root", "the bridge would log in as root"),
                 "whoever has its key would be root on the login host",
                 "write an ordinary user, for whom sudoers lists the accounts");
    } else if (!row.way.uses_sudo && !can_be(user, row.account)) {
        into.add(path,
                 problem("bridge-login-of-another",
                         fmt::format(
                             "account {} is reached as the user {}", row.account, printable(user))),
                 "without `sudo` its jobs would be those of that user",
                 fmt::format("write `ssh: {}@{}`", row.account, host_of_login(row.way.ssh)));
    }
}

void refuse_roots(const launchers::BridgeAccount& row, const std::string& path, FieldFaults& into) {
    for (std::size_t at = 0; at < row.results_roots.size(); ++at) {
        const auto plain = std::filesystem::path(row.results_roots[at]).lexically_normal();
        if (plain != plain.root_path()) {
            continue;
        }
        into.add(
            fmt::format("{}[{}]", path, at),
            problem("bridge-results-root-unlimited",
                    "'" + printable(row.results_roots[at]) + "' admits results in each folder"),
            "files of the same name are replaced, wherever the account may write",
            fmt::format("name a folder for results, for example {}",
                        (row.workdir / "results").native()));
    }
}

/// The script of each ordinary Job would be refused: the nodes read these files.
void refuse_verification(const Configuration& configuration, FieldFaults& into) {
    std::vector<std::string> paths = configuration.cluster.verify_keys;
    if (!configuration.cluster.verify_policy.empty()) {
        paths.push_back(configuration.cluster.verify_policy);
    }
    for (const std::string& path : paths) {
        if (path.starts_with('/') || path.starts_with("~/")) {
            continue;
        }
        into.add_of_site("verify",
                         problem("bridge-verify-relative",
                                 "'" + printable(path) + "' would not be found on the nodes"),
                         "the batch script of each ordinary Job verifies its image there",
                         "write an absolute path, as the nodes know it");
    }
}

} // namespace

std::vector<Fault> refused_fields(const Configuration& configuration) {
    const launchers::Bridge& document = configuration.document;
    FieldFaults refusals(configuration);
    if (document.reader && user_of(document.reader->ssh) == "root") {
        refusals.add("reader.ssh",
                     problem("bridge-reader-root", "the reader would log in as root"),
                     "it only lists jobs, and whoever has its key would be root on the login host",
                     "write an ordinary user, for example `ssh: reader@" +
                         host_of_login(document.reader->ssh) + "`");
    }
    for (std::size_t at = 0; at < document.accounts.size(); ++at) {
        const launchers::BridgeAccount& row = document.accounts[at];
        const std::string path = fmt::format("accounts[{}]", at);
        refuse_login(row, path + ".way.ssh", refusals);
        refuse_roots(row, path + ".results-roots", refusals);
    }
    if (document.manages_jobs) {
        refuse_verification(configuration, refusals);
    }
    return refusals.take();
}

std::vector<Fault> refused_in_pod(const Configuration& configuration) {
    FieldFaults refusals(configuration);
    if (!configuration.cluster.templates.empty()) {
        refusals.add_of_site(
            "templates",
            problem("bridge-templates-not-in-pod", "the pod has no folder of templates"),
            "the ConfigMap has the Bridge and the Site, which cannot be read without its templates",
            "remove `templates` from the Site of the bridge, or run it without --image");
    }
    return refusals.take();
}

} // namespace cybele::bridge
