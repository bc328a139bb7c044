// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/bridge.hpp"
#include "launchers/documents/field_shapes.hpp"
#include "support/characters.hpp"

#include <algorithm>
#include <cctype>

namespace cybele::launchers {
namespace {

using document::Field;
using document::Rule;
using document::Shape;
using document::Table;
using document::Type;
using document::ValueFault;

constexpr std::size_t kLongestBridgeName = 63;

bool is_plain_letter(char letter, std::string_view others) {
    return is_lower_or_digit(letter) || others.find(letter) != std::string_view::npos;
}

ValueFault check_namespace(std::string_view text) {
    const bool is_good = !text.empty() && text.size() <= kLongestBridgeName &&
                         text.front() != '-' && text.back() != '-' &&
                         std::ranges::all_of(text, [](char c) { return is_plain_letter(c, "-"); });
    return is_good ? ValueFault{}
                   : ValueFault{"a namespace has up to 63 lower-case letters, digits and hyphens",
                                "write it like `kubectl get namespaces` shows it"};
}

ValueFault check_node_prefix(std::string_view text) {
    const ValueFault wrong = check_namespace(text); // names of nodes have the same letters
    return wrong.because.empty()
               ? ValueFault{}
               : ValueFault{"names of nodes have up to 63 lower-case letters, digits and hyphens",
                            "write it like `kubectl get nodes` shows names, for example `hall-a`"};
}

ValueFault check_account(std::string_view text) {
    constexpr std::string_view kOthers = "._-ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const bool is_good =
        !text.empty() && text.size() <= kLongestBridgeName && text.front() != '-' &&
        text.front() != '.' &&
        std::ranges::all_of(text, [kOthers](char c) { return is_plain_letter(c, kOthers); });
    return is_good ? ValueFault{}
                   : ValueFault{"the account becomes a word of command lines",
                                "use up to 63 letters, digits, and `._-`, not `-` or `.` first"};
}

constexpr Rule kNamespaceRule{
    "a namespace", "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", check_namespace};
constexpr Rule kNodePrefixRule{
    "the beginning of a node's name", "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", check_node_prefix};
constexpr Rule kAccountRule{"an account", "^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$", check_account};
constexpr Shape kNamespace{.type = Type::kText, .rule = &kNamespaceRule};
constexpr Shape kNodePrefix{.type = Type::kText, .rule = &kNodePrefixRule};
constexpr Shape kNamespaces{.type = Type::kList, .item = &kNamespace};
constexpr Shape kAccountName{.type = Type::kText, .rule = &kAccountRule};
constexpr Shape kSwitch{.type = Type::kFlag};

constexpr std::string_view kWayWords[] = {"commands"};
constexpr Shape kWayWord{.type = Type::kWord, .words = kWayWords};
constexpr Field kWayFields[] = {
    {"ssh", &kText, "login host, as HOST or USER@HOST; unset: this machine"},
    {"key", &kPath, "private key for ssh; unset: as ssh is configured"},
    {"sudo", &kSwitch, "run the commands with `sudo -n -u ACCOUNT`", false, "false"},
    {"slurmrestd", &kText, "URL of Slurm's REST service, instead of commands"},
    {"token-file", &kPath, "file with the token of that user for it"},
    {"token-command", &kText, "command that prints the token"},
    {"records", &kPath, "folder of this machine for the records of its jobs"},
};
constexpr Table kWayTable{.title = "way", .fields = kWayFields};
constexpr Shape kWay{.type = Type::kMap, .table = &kWayTable, .scalar = &kWayWord};

constexpr Field kAccountFields[] = {
    {"namespace", &kNamespace, "whose objects may use the account", true},
    {"account", &kAccountName, "user on the cluster that the jobs belong to", true},
    {"way", &kWay, "how commands are run as that user", false, "commands"},
    {"workdir", &kPath, "folder on the cluster where jobs start and records are stored", true},
    {"queues", &kTexts, "queues that it may use; unset: all"},
    {"results-roots", &kPaths, "folders below which `hostPath` results may be copied"},
    {"results-limit",
     &kSize,
     "most bytes of the `hostPath` results of one object",
     false,
     "10 GiB"},
};
constexpr Table kAccountTable{.title = "accounts", .fields = kAccountFields};
constexpr Shape kAccountItem{.type = Type::kMap, .table = &kAccountTable};
constexpr Shape kAccounts{.type = Type::kList, .item = &kAccountItem};

constexpr Table kNodeLabelTable{.title = "labels", .rest = &kText};
constexpr Shape kNodeLabels{.type = Type::kMap, .table = &kNodeLabelTable};
constexpr Field kVirtualNodesFields[] = {
    {"prefix", &kNodePrefix, "beginning of the name of each node, as PREFIX-QUEUE", true},
    {"labels", &kNodeLabels, "further labels of each node"},
};
constexpr Table kVirtualNodesTable{.title = "virtual-nodes", .fields = kVirtualNodesFields};
constexpr Shape kVirtualNodes{.type = Type::kMap, .table = &kVirtualNodesTable};

constexpr Field kListenFields[] = {
    {"address", &kText, "IP address to listen at; `0.0.0.0` or `::` is each", true},
    {"port", &kCount, "port; `0` is any that is free", false, "10250"},
    {"advertise", &kText, "IP address by which others reach it; unset: `$POD_IP`, or `address`"},
    {"certificate", &kPath, "PEM file with the certificate; unset: a self-signed one is made"},
    {"key", &kPath, "PEM file with its key"},
};
constexpr Table kListenTable{.title = "listen", .fields = kListenFields};
constexpr Shape kListen{.type = Type::kMap, .table = &kListenTable};

constexpr Field kBridgeFields[] = {
    {"name", &kName, "name of the bridge and of its Lease", true},
    {"site", &kPath, "the Site of the cluster: batch system, queues and their limits", true},
    {"namespaces", &kNamespaces, "namespaces that are watched; unset: all"},
    {"reader", &kWay, "how the queue is read; unset: as the first account"},
    {"accounts", &kAccounts, "which namespace uses which account", true},
    {"poll", &kDuration, "time between two queries of the queue", false, "15 s"},
    {"hand-over-patience",
     &kDuration,
     "age of a submission without an answer before it is repeated",
     false,
     "60 s"},
    {"keep-records", &kDuration, "how long records stay on the cluster", false, "30 d"},
    {"writes-per-second", &kCount, "most writes to the API server per second", false, "50"},
    {"virtual-nodes", &kVirtualNodes, "show each queue as a node, and each job as a pod of it"},
    {"listen", &kListen, "answer `kubectl logs`, and pods that collect results, by https"},
    {"collector-image",
     &kText,
     "image with cybelectl, for pods that copy results into claims; unset: none are made"},
    {"tails", &kSwitch, "put the last 2 KiB of each output stream into the status", false, "true"},
    {"managed-jobs",
     &kSwitch,
     "also run ordinary Jobs whose `managedBy` is `cybelectl.io/bridge`",
     false,
     "false"},
};
constexpr Table kBridgeTable{.title = "Bridge", .fields = kBridgeFields};
constexpr document::Kind kBridgeKind{
    .name = "Bridge",
    .description = "How a bridge carries jobs from Kubernetes to a batch system.",
    .table = &kBridgeTable};

} // namespace

const document::Kind& bridge_kind() {
    return kBridgeKind;
}

} // namespace cybele::launchers
