// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/placement.hpp"

#include "support/json.hpp"
#include "support/size.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

/// In favour of the side where the data lies.
constexpr double kMargin = 0.8;

PlacementReason silent(std::string because) {
    return {{}, std::nullopt, std::move(because)};
}

PlacementReason to_cluster(std::string because) {
    return {{}, Target::kCluster, std::move(because)};
}

PlacementReason to_kubernetes(std::string because) {
    return {{}, Target::kKubernetes, std::move(because)};
}

PlacementReason by_word(const PlacementInput& input) {
    if (input.asked == "auto") {
        return silent("the choice is left to the rule");
    }
    return {{},
            input.asked == "kubernetes" ? Target::kKubernetes : Target::kCluster,
            "`" + input.asked + "` was asked for"};
}

PlacementReason by_ability(const PlacementInput& input) {
    const auto joined = [](const std::vector<std::string>& refusals) {
        return fmt::format("{}", fmt::join(refusals, "; "));
    };
    const auto& cluster = input.cluster.refusals;
    const auto& kubernetes = input.kubernetes.refusals;
    if (cluster.empty() && kubernetes.empty()) {
        return silent("both can run it, as far as the Site says");
    }
    if (kubernetes.empty()) {
        return to_kubernetes("the cluster cannot: " + joined(cluster));
    }
    if (cluster.empty()) {
        return to_cluster("Kubernetes cannot: " + joined(kubernetes));
    }
    return silent("neither can; the cluster: " + joined(cluster) +
                  "; Kubernetes: " + joined(kubernetes));
}

PlacementReason by_nodes(const PlacementInput& input) {
    if (input.nodes > 1 && input.is_mpi) {
        return to_cluster(
            fmt::format("MPI on {} nodes requires the cluster's network", input.nodes));
    }
    return silent(input.nodes == 1 ? "one node" : "no MPI between the nodes");
}

PlacementReason by_size(const PlacementInput& input) {
    if (input.pod_cores.value_or(input.cores_per_node) < input.cores_per_node) {
        return to_cluster(fmt::format("{} cores on a node are asked, one of Kubernetes has {}",
                                      input.cores_per_node,
                                      input.pod_cores.value_or(0)));
    }
    const std::uint64_t memory = input.memory_per_node_bytes.value_or(0);
    if (input.pod_memory_bytes.value_or(memory) < memory) {
        return to_cluster(fmt::format("{} on a node are asked, one of Kubernetes has {}",
                                      format_size(memory),
                                      format_size(input.pod_memory_bytes.value_or(0))));
    }
    return silent(input.pod_cores && (input.pod_memory_bytes || memory == 0)
                      ? "it fits on a node of Kubernetes"
                      : "what a node of Kubernetes offers is unknown");
}

PlacementReason by_time(const PlacementInput& input) {
    if (!input.eviction || !input.time) {
        return silent(input.eviction ? "how long it runs is unknown"
                                     : "how long Kubernetes leaves pods alone is unknown");
    }
    if (*input.time > *input.eviction) {
        return to_cluster(fmt::format("it runs {} s, and pods are moved away after {} s",
                                      input.time->count(),
                                      input.eviction->count()));
    }
    return silent("pods are left alone long enough");
}

/// Seconds until the end; unset where a part of it is not known.
std::optional<double> estimate(const TargetFacts& facts) {
    const bool has_nothing_to_copy = facts.missing_bytes.value_or(1) == 0;
    if (!facts.wait_seconds || !facts.pull_seconds || !facts.run_seconds || !facts.missing_bytes ||
        (!has_nothing_to_copy && facts.bytes_per_second.value_or(0) <= 0)) {
        return std::nullopt;
    }
    const double copy = has_nothing_to_copy ? 0.0
                                            : static_cast<double>(*facts.missing_bytes) /
                                                  facts.bytes_per_second.value_or(1);
    return *facts.wait_seconds + copy + *facts.pull_seconds + *facts.run_seconds;
}

PlacementReason by_estimate(const PlacementInput& input) {
    const auto cluster = estimate(input.cluster);
    const auto kubernetes = estimate(input.kubernetes);
    if (!cluster || !kubernetes) {
        return silent(fmt::format("the time until the end is unknown on {}",
                                  cluster      ? "Kubernetes"
                                  : kubernetes ? "the cluster"
                                               : "both sides"));
    }
    const std::uint64_t missing = input.cluster.missing_bytes.value_or(0);
    const std::uint64_t missing_there = input.kubernetes.missing_bytes.value_or(0);
    const double own = *cluster * (missing < missing_there ? kMargin : 1.0);
    const double other = *kubernetes * (missing_there < missing ? kMargin : 1.0);
    const std::string because =
        fmt::format("{:.0f} s until the end on the cluster, {:.0f} s on Kubernetes; data is {}",
                    *cluster,
                    *kubernetes,
                    missing < missing_there   ? "on the cluster"
                    : missing_there < missing ? "on Kubernetes"
                                              : "on neither more than on the other");
    if (own == other) {
        return silent(because);
    }
    return own < other ? to_cluster(because) : to_kubernetes(because);
}

PlacementReason by_tie(const PlacementInput& input) {
    return input.nodes == 1
               ? to_kubernetes("nothing speaks against it, and one node is what a pod is")
               : to_cluster(fmt::format("{} nodes are what a cluster is for", input.nodes));
}

struct Rule {
    const char* name;
    PlacementReason (*say)(const PlacementInput& input);
};
/// In the order in which they count.
constexpr Rule kRules[] = {{"asked", by_word},
                           {"ability", by_ability},
                           {"nodes", by_nodes},
                           {"size", by_size},
                           {"time", by_time},
                           {"estimate", by_estimate},
                           {"tie", by_tie}};
constexpr std::size_t kAbility = 1;

std::string says_text(const PlacementReason& reason) {
    return reason.says ? target_text(*reason.says) : "-";
}

} // namespace

Placement place(const PlacementInput& input) {
    Placement placement;
    for (const Rule& rule : kRules) {
        PlacementReason reason = rule.say(input);
        reason.rule = rule.name;
        placement.table.push_back(std::move(reason));
    }
    const bool none_can = input.asked == "auto" && !input.cluster.refusals.empty() &&
                          !input.kubernetes.refusals.empty();
    const auto decided = std::ranges::find_if(
        placement.table, [](const auto& reason) { return reason.says.has_value(); });
    placement.decided =
        none_can ? kAbility : static_cast<std::size_t>(decided - placement.table.begin());
    if (!none_can) {
        placement.target = decided->says;
    }
    return placement;
}

std::string target_text(Target target) {
    return target == Target::kCluster ? "cluster" : "kubernetes";
}

std::string placement_text(const Placement& placement) {
    std::string text = fmt::format("  {:<9} {:<11} {}\n", "RULE", "SAYS", "BECAUSE");
    for (std::size_t index = 0; index < placement.table.size(); ++index) {
        const PlacementReason& reason = placement.table[index];
        text += fmt::format("{} {:<9} {:<11} {}\n",
                            index == placement.decided ? '*' : ' ',
                            reason.rule,
                            says_text(reason),
                            reason.because);
    }
    return text + "target: " + (placement.target ? target_text(*placement.target) : "none") + "\n";
}

std::string placement_json(const Placement& placement) {
    using Json = nlohmann::ordered_json;
    Json rules = Json::array();
    for (const PlacementReason& reason : placement.table) {
        rules.push_back({{"rule", reason.rule},
                         {"says", reason.says ? Json(target_text(*reason.says)) : Json(nullptr)},
                         {"because", reason.because}});
    }
    const Json document{
        {"format", 1},
        {"target", placement.target ? Json(target_text(*placement.target)) : Json(nullptr)},
        {"decided-by", placement.table[placement.decided].rule},
        {"rules", rules}};
    return json_text(document) + "\n";
}

} // namespace cybele::submission
