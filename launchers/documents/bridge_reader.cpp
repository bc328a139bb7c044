// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/bridge.hpp"
#include "support/document_view.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <set>

namespace cybele::launchers {
namespace {

using document::Reading;
using document::View;

std::filesystem::path below(const std::filesystem::path& folder, const std::string& text) {
    return text.empty() ? std::filesystem::path() : folder / text;
}

BridgeConnection read_way(const View& view, const std::filesystem::path& folder) {
    BridgeConnection way;
    if (!view.is_scalar()) {
        way.ssh = view.text("ssh");
        way.key = below(folder, view.text("key"));
        way.uses_sudo = view.flag("sudo");
        way.slurmrestd = view.text("slurmrestd");
        way.token_file = below(folder, view.text("token-file"));
        way.token_command = view.text("token-command");
        way.records = below(folder, view.text("records"));
    }
    return way;
}

void check_slurmrestd(Reading& reading, const View& view, const BridgeConnection& way) {
    const bool has_token = !way.token_file.empty() || !way.token_command.empty();
    if (way.slurmrestd.empty()) {
        if (has_token || !way.records.empty()) {
            reading.complain(view.path(),
                             problem("bridge-token-without-service",
                                     "a token or `records` is set without `slurmrestd`"),
                             "they are used with Slurm's REST service only",
                             "add `slurmrestd: URL`, or remove them");
        }
        return;
    }
    if (!way.ssh.empty() || way.uses_sudo) {
        reading.complain(view.path("slurmrestd"),
                         problem("bridge-way-ambiguous", "`slurmrestd` is set with ssh or sudo"),
                         "an account is reached in one way",
                         "keep one of them");
    }
    if (way.token_file.empty() == way.token_command.empty()) {
        reading.complain(
            view.path("slurmrestd"),
            problem("bridge-token-missing", "`slurmrestd` needs `token-file` or `token-command`"),
            "the token decides whose jobs they are",
            "set one of the two");
    }
}

void check_way(Reading& reading, const View& view, const BridgeConnection& way) {
    if (!reading.is_good(view.path())) {
        return;
    }
    if (way.ssh.starts_with('-')) {
        reading.complain(
            view.path("ssh"),
            problem("bridge-login-invalid", "'" + printable(way.ssh) + "' is not a login host"),
            "ssh would read it as an option",
            "write HOST or USER@HOST");
    }
    check_slurmrestd(reading, view, way);
    if (!way.key.empty() && way.ssh.empty()) {
        reading.complain(view.path("key"),
                         problem("bridge-key-without-ssh", "'key' is set without 'ssh'"),
                         "a key is used by ssh only",
                         "add `ssh: HOST`, or remove `key`");
    }
}

BridgeAccount read_account(const View& view, const std::filesystem::path& folder) {
    BridgeAccount account;
    account.name_space = view.text("namespace");
    account.account = view.text("account");
    account.way = read_way(view.table("way"), folder);
    account.workdir = view.text("workdir");
    account.queues = view.list("queues");
    account.results_roots = view.list("results-roots");
    account.results_limit = view.maybe_size("results-limit").value_or(account.results_limit);
    return account;
}

void check_absolute(Reading& reading, const std::string& path, const std::filesystem::path& value) {
    if (reading.is_good(path) && !value.empty() && !value.is_absolute()) {
        reading.complain(path,
                         problem("bridge-path-relative",
                                 "'" + printable(value.native()) + "' is not an absolute path"),
                         "it is a folder on the cluster",
                         "write an absolute path");
    }
}

void check_accounts(Reading& reading, const std::vector<View>& views, const Bridge& bridge) {
    std::set<std::pair<std::string, std::string>> seen;
    std::map<std::string, BridgeAccount> by_name;
    for (std::size_t at = 0; at < views.size(); ++at) {
        const View& view = views[at];
        const BridgeAccount& account = bridge.accounts[at];
        check_absolute(reading, view.path("workdir"), account.workdir);
        const std::vector<std::string>& roots = account.results_roots;
        for (std::size_t root = 0; root < roots.size(); ++root) {
            check_absolute(reading,
                           view.path("results-roots") + "[" + std::to_string(root) + "]",
                           roots[root]);
        }
        check_way(reading, view.table("way"), account.way);
        if (!account.way.slurmrestd.empty() && reading.is_good(view.path("way")) &&
            !account.way.records.is_absolute()) {
            reading.complain(
                view.path("way"),
                problem("bridge-records-missing", "`slurmrestd` needs `records`, an absolute path"),
                "the service has no files: records are stored on this machine",
                "write `records: /var/lib/cybelectl/records`");
        }
        if (!reading.is_good(view.path())) {
            continue;
        }
        if (!seen.insert({account.name_space, account.account}).second) {
            reading.complain(view.path("account"),
                             problem("bridge-account-duplicate",
                                     "account '" + account.account +
                                         "' is listed two times for namespace '" +
                                         account.name_space + "'"),
                             "one row decides about queues and folders",
                             "keep one of them");
        }
        const BridgeAccount& first = by_name.emplace(account.account, account).first->second;
        if (first.workdir != account.workdir || !(first.way == account.way)) {
            reading.complain(view.path("account"),
                             problem("bridge-account-ambiguous",
                                     "account '" + account.account +
                                         "' has two different `way` or `workdir` values"),
                             "a job is found by its account, for all of its namespaces",
                             "write the same `way` and `workdir` in each of its rows");
        }
    }
}

/// No namespace at all is not meant to be each of the cluster.
void check_namespaces_given(Reading& reading, const View& root) {
    const yaml::Node* const list = root.find("namespaces");
    if (list != nullptr && list->kind == yaml::Node::Kind::kSequence && list->items.empty()) {
        reading.complain("namespaces",
                         problem("bridge-namespaces-empty", "`namespaces` lists no namespace"),
                         "the bridge would serve none; without the field it serves all of them",
                         "list the namespaces, or remove `namespaces` to serve all");
    }
}

/// A namespace that is served has an account, else each of its objects would be refused.
void check_namespaces(Reading& reading, const Bridge& bridge) {
    for (std::size_t at = 0; at < bridge.namespaces.size(); ++at) {
        const std::string& name = bridge.namespaces[at];
        const bool has_account = contains(bridge.accounts, name, &BridgeAccount::name_space);
        if (reading.is_good("namespaces") && !has_account) {
            reading.complain("namespaces[" + std::to_string(at) + "]",
                             problem("bridge-namespace-without-account",
                                     "namespace '" + printable(name) + "' has no account"),
                             "each of its objects would be refused",
                             "add a row with `namespace: " + printable(name) +
                                 "` to `accounts`, or remove it here");
        }
    }
}

BridgeListen read_listen(const View& view, const std::filesystem::path& folder) {
    BridgeListen listen;
    listen.address = view.text("address");
    listen.port = view.count("port");
    listen.advertise = view.text("advertise");
    listen.certificate = below(folder, view.text("certificate"));
    listen.key = below(folder, view.text("key"));
    return listen;
}

void check_listen(Reading& reading, const View& view, const BridgeListen& listen) {
    constexpr std::uint32_t kLargestPort = 65535;
    for (const auto& [field, text] :
         {std::pair("address", &listen.address), std::pair("advertise", &listen.advertise)}) {
        const bool may_be_empty = std::string_view(field) == "advertise";
        if (reading.is_good(view.path(field)) && !(may_be_empty && text->empty()) &&
            !is_ip_address(*text)) {
            reading.complain(view.path(field),
                             problem("bridge-address-invalid",
                                     "'" + printable(*text) + "' is not an IP address"),
                             "the API server is given it as the address of each node",
                             "write an address like 10.1.2.3");
        }
    }
    if (reading.is_good(view.path("port")) && listen.port > kLargestPort) {
        reading.complain(
            view.path("port"),
            problem("bridge-port-invalid", std::to_string(listen.port) + " is not a port"),
            "ports are at most 65535",
            "remove the field, or write a smaller number");
    }
    if (listen.certificate.empty() != listen.key.empty()) {
        reading.complain(
            view.path(),
            problem("bridge-certificate-incomplete", "`certificate` and `key` are not both set"),
            "the server proves its certificate with the key",
            "set both, or neither: then the bridge makes its own");
    }
}

} // namespace

Result<Bridge> read_bridge(std::string text, const std::filesystem::path& file) {
    Bridge bridge;
    CYBELE_TRY(Reading reading, Reading::open(bridge_kind(), std::move(text), file.string()));
    const std::filesystem::path folder = file.parent_path();
    const View root = reading.root();
    bridge.name = root.text("name");
    bridge.site = below(folder, root.text("site"));
    bridge.namespaces = root.list("namespaces");
    if (root.has("reader")) {
        bridge.reader = read_way(root.table("reader"), folder);
        check_way(reading, root.table("reader"), *bridge.reader);
    }
    const std::vector<View> accounts = root.tables("accounts");
    for (const View& view : accounts) {
        bridge.accounts.push_back(read_account(view, folder));
    }
    check_accounts(reading, accounts, bridge);
    check_namespaces(reading, bridge);
    check_namespaces_given(reading, root);
    bridge.poll = root.duration("poll");
    bridge.hand_over_patience = root.duration("hand-over-patience");
    bridge.keep_records = root.duration("keep-records");
    bridge.writes_per_second = root.count("writes-per-second");
    if (root.has("virtual-nodes")) {
        const View nodes = root.table("virtual-nodes");
        bridge.virtual_nodes = BridgeNodes{nodes.text("prefix"), nodes.map("labels")};
    }
    if (root.has("listen")) {
        bridge.listen = read_listen(root.table("listen"), folder);
        check_listen(reading, root.table("listen"), *bridge.listen);
    }
    bridge.collector_image = root.text("collector-image");
    if (!bridge.collector_image.empty() && !bridge.listen) {
        reading.complain(
            "collector-image",
            problem("bridge-collector-without-listen", "`collector-image` is set without `listen`"),
            "the pod gets the results from the bridge",
            "add `listen: {address: ADDRESS}`, or remove it");
    }
    bridge.reads_tails = root.flag("tails");
    bridge.manages_jobs = root.flag("managed-jobs");
    for (const std::string_view field : {"poll", "writes-per-second"}) {
        const bool is_zero =
            field == "poll" ? bridge.poll.count() == 0 : bridge.writes_per_second == 0;
        if (is_zero && reading.is_good(field)) {
            reading.complain(field,
                             problem("bridge-value-zero", "'" + std::string(field) + "' is 0"),
                             "the bridge would not run at all, or without a pause",
                             "remove the field; the default suits most sites");
        }
    }
    if (reading.faults().has_errors()) {
        return fail(reading.faults().take());
    }
    bridge.source = reading.source();
    bridge.marks = reading.marks();
    return bridge;
}

} // namespace cybele::launchers
