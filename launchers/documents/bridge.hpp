// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"
#include "support/error.hpp"
#include "support/yaml.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cybele::launchers {

/// How commands on the cluster are run as an account.
struct BridgeConnection {
    std::string ssh;           ///< the login host; empty: this machine
    std::filesystem::path key; ///< private key of that login; empty: ssh's own choice
    bool uses_sudo = false;    ///< `sudo -n -u ACCOUNT` there
    std::string slurmrestd;    ///< URL of the service; empty: commands
    std::filesystem::path token_file;
    std::string token_command;     ///< prints the account's token
    std::filesystem::path records; ///< folder of this machine, where the service has no files

    bool operator==(const BridgeConnection&) const = default;
};

/// A namespace and an account that its objects may use.
struct BridgeAccount {
    std::string name_space;
    std::string account;
    BridgeConnection way;
    std::filesystem::path workdir; ///< on the cluster, absolute
    std::vector<std::string> queues;
    std::vector<std::string> results_roots;
    std::uint64_t results_limit = std::uint64_t{10} << 30U;
};

/// Queues as nodes of Kubernetes, and jobs as their pods.
struct BridgeNodes {
    std::string prefix; ///< of the names of nodes
    std::map<std::string, std::string> labels;
};

/// Where the bridge answers by https: output of jobs for the API server, results for collectors.
struct BridgeListen {
    std::string address;
    std::uint32_t port = 10250;        ///< 0: any that is free
    std::string advertise;             ///< how others reach it; empty: the address
    std::filesystem::path certificate; ///< empty: a self-signed one is made
    std::filesystem::path key;
};

/// The document of kind Bridge, read and checked.
struct Bridge {
    std::string name;
    std::filesystem::path site; ///< the Site's file
    std::vector<std::string> namespaces;
    std::optional<BridgeConnection> reader;
    std::vector<BridgeAccount> accounts;
    std::chrono::seconds poll{15};
    std::chrono::seconds hand_over_patience{60};
    std::chrono::seconds keep_records{2592000};
    std::uint32_t writes_per_second = 50;
    std::optional<BridgeNodes> virtual_nodes;
    std::optional<BridgeListen> listen;
    std::string collector_image; ///< of pods that copy results into claims; empty: none are made
    bool reads_tails = true;     ///< the last of the output in the status of each object
    bool manages_jobs = false;   ///< also batch/v1 Jobs that name the bridge in `managedBy`

    yaml::Source source{"", ""};
    std::map<std::string, yaml::Mark> marks;
};

[[nodiscard]] const document::Kind& bridge_kind();

/// Reads a document of kind Bridge. All faults at once, each with its place (kInput).
[[nodiscard]] Result<Bridge> read_bridge(std::string text, const std::filesystem::path& file);

} // namespace cybele::launchers
