// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/object.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cybele::bridge {

/// What a namespace may use on the cluster: the administrator's, never the object's.
struct AccountRow {
    std::string space;                      ///< the namespace
    std::string account;                    ///< the user on the cluster
    std::vector<std::string> queues;        ///< empty: all
    std::vector<std::string> results_roots; ///< folders below which `hostPath` results are copied
};

/// What a queue has at most; unset: not known.
struct QueueLimits {
    std::string name;
    std::optional<std::uint64_t> nodes;
    std::optional<std::chrono::seconds> time;
    std::optional<std::uint64_t> memory_per_node;   ///< bytes
    std::map<std::string, std::string> labels = {}; ///< of its node
};

/// The batch system as the bridge's configuration and its queues say.
struct Site {
    Kind kind = Kind::kSlurmJob; ///< which objects it runs
    std::vector<AccountRow> accounts;
    std::vector<QueueLimits> queues;
    std::map<std::string, std::string> labels; ///< of queues that the Site does not list
    std::string default_queue;
    /// Its qsub is that of Slurm: sbatch reads the script, with the lines of both batch systems.
    bool is_read_by_sbatch = false;
};

/// As whom an object's job is submitted, or why it is not.
struct Admitted {
    std::string account;
    std::optional<Refusal> refusal;
    /// Whether the namespace has the account that the object's status names: somebody may have
    /// written it there.
    bool has_account = true;
};

/// Checks an object before anything is sent to the cluster: account, directives of the script,
/// queue, the queue's limits (with both numbers), target of the results. Pure.
[[nodiscard]] Admitted admit(const Object& object, const Site& site);

} // namespace cybele::bridge
