// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

enum class Target { kCluster, kKubernetes };

/// One side, as far as it is known; unset: nobody has said it.
struct TargetFacts {
    std::vector<std::string> refusals; ///< why it cannot run the Job; empty: it can
    std::optional<double> wait_seconds;
    std::optional<double> pull_seconds; ///< of the image
    std::optional<double> run_seconds;
    std::optional<double> bytes_per_second;
    std::optional<std::uint64_t> missing_bytes; ///< of image and inputs, that would be copied
};

/// What the rule of placement looks at.
struct PlacementInput {
    std::string asked = "cluster"; ///< auto, cluster, kubernetes
    std::uint32_t nodes = 1;
    bool is_mpi = false;
    std::uint32_t cores_per_node = 1;
    std::optional<std::uint64_t> memory_per_node_bytes;
    std::optional<std::chrono::seconds> time;
    TargetFacts cluster;
    TargetFacts kubernetes;
    std::optional<std::uint32_t> pod_cores; ///< allocatable on one node of Kubernetes …
    std::optional<std::uint64_t> pod_memory_bytes;
    std::optional<std::chrono::seconds> eviction; ///< after which pods are moved away
};

/// What one part of the rule says.
struct PlacementReason {
    std::string rule;
    std::optional<Target> says; ///< unset: nothing
    std::string because;
};

struct Placement {
    std::optional<Target> target;       ///< unset: neither side can run it
    std::size_t decided = 0;            ///< index of the reason that decided
    std::vector<PlacementReason> table; ///< in the order in which they count
};

/// Where a Job runs: the user's word, else the first part of this rule that says something. Sides
/// that cannot run it fall out; several nodes with MPI, more than a pod's node offers, and more
/// time than pods are left alone go to the cluster; then the least time until the end, where both
/// sides' are known, with a fifth in favour of the side where more of the data lies; ties and what
/// is unknown: one node goes to Kubernetes, several to the cluster. Pure: the same input, the same
/// table.
[[nodiscard]] Placement place(const PlacementInput& input);

[[nodiscard]] std::string target_text(Target target);
/// The table for people: a line a rule, the one that decided marked by `*`.
[[nodiscard]] std::string placement_text(const Placement& placement);
/// The same as JSON: {format, target, decided-by, rules: [{rule, says, because}]}.
[[nodiscard]] std::string placement_json(const Placement& placement);

} // namespace cybele::submission
