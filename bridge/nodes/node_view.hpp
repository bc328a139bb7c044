// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/batch/queue_observation.hpp"
#include "bridge/configuration/configuration.hpp"
#include "bridge/objects/object.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace cybele::bridge {

inline constexpr std::string_view kBridgeLabel = "cybelectl.io/bridge";
inline constexpr std::string_view kUidLabel = "cybelectl.io/uid";

/// Where the API server asks for the output of a node's pods; port 0: the Bridge has no listener.
struct NodeAddress {
    std::string address;
    int port = 0;
};

/// The name of the node of a queue.
[[nodiscard]] std::string node_of(const Configuration& configuration, const std::string& queue);
/// The queue of an object, as the Site names it; its first where the object's is another.
[[nodiscard]] std::string queue_of(const Configuration& configuration, const Object& object);

/// The node of a queue, as the API server gets it.
[[nodiscard]] nlohmann::json node_json(const Configuration& configuration,
                                       const launchers::SiteQueue& queue);
/// A queue as the Site lists it, and as the batch system shows it; null: not known.
struct QueueOfNode {
    const launchers::SiteQueue& listed;
    const LiveQueue* live = nullptr;
};
/// Its status at a moment (Unix seconds) of its heartbeat.
[[nodiscard]] nlohmann::json node_status_json(const QueueOfNode& queue,
                                              bool is_ready,
                                              std::int64_t heartbeat,
                                              const NodeAddress& listener = {});

} // namespace cybele::bridge
