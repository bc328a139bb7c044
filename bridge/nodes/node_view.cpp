// SPDX-License-Identifier: Apache-2.0
#include "bridge/nodes/node_view.hpp"

#include "bridge/objects/queue_labels.hpp"
#include "bridge/objects/times.hpp"
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/batch_script.hpp"
#include "support/find.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

using NodeJson = nlohmann::json;

launchers::BridgeNodes view_settings(const Configuration& configuration) {
    return configuration.document.virtual_nodes.value_or(launchers::BridgeNodes());
}

/// The batch system's own numbers first.
NodeJson capacity_of(const QueueOfNode& queue) {
    const launchers::SiteQueue& listed = queue.listed;
    LiveQueue known = queue.live != nullptr ? *queue.live : LiveQueue();
    if (!known.nodes && listed.nodes) {
        known.nodes = *listed.nodes;
    }
    if (!known.cores && known.nodes && listed.cores_per_node) {
        known.cores = *known.nodes * *listed.cores_per_node;
    }
    if (!known.memory && known.nodes && listed.memory_per_node_bytes) {
        known.memory = *known.nodes * *listed.memory_per_node_bytes;
    }
    NodeJson capacity{{"pods", "10000"}};
    const auto add = [&capacity](const char* name, const std::optional<std::uint64_t>& value) {
        if (value) {
            capacity[name] = std::to_string(*value);
        }
    };
    add("hpc.cybelectl.io/nodes", known.nodes);
    add("cpu", known.cores);
    add("memory", known.memory);
    return capacity;
}

} // namespace

std::string node_of(const Configuration& configuration, const std::string& queue) {
    return node_name(view_settings(configuration).prefix, queue);
}

std::string queue_of(const Configuration& configuration, const Object& object) {
    std::string queue = object.spec.queue;
    if (queue.empty()) {
        const auto script = schedulers::read_batch_script(object.spec.batch,
                                                          "spec.batch",
                                                          object.kind == Kind::kSlurmJob
                                                              ? schedulers::Reader::kSlurm
                                                              : schedulers::Reader::kTorque);
        queue = script ? schedulers::what_is_asked(*script).queue : "";
    }
    const auto& queues = configuration.cluster.queues;
    const bool is_known = contains(queues, queue, &launchers::SiteQueue::name);
    return is_known ? queue : queues.front().name;
}

nlohmann::json node_json(const Configuration& configuration, const launchers::SiteQueue& queue) {
    return {{"apiVersion", "v1"},
            {"kind", "Node"},
            {"metadata",
             {{"name", node_of(configuration, queue.name)},
              {"labels", queue_labels(configuration.document, queue)}}},
            {"spec",
             {{"taints",
               {{{"key", "virtual-kubelet.io/provider"},
                 {"value", "cybelectl"},
                 {"effect", "NoSchedule"}}}}}}};
}

nlohmann::json node_status_json(const QueueOfNode& queue,
                                bool is_ready,
                                std::int64_t heartbeat,
                                const NodeAddress& listener) {
    const NodeJson capacity = capacity_of(queue);
    const std::string time = time_text(heartbeat);
    NodeJson status{
        {"capacity", capacity},
        {"allocatable", capacity},
        {"conditions",
         {{{"type", "Ready"},
           {"status", is_ready ? "True" : "False"},
           {"reason", is_ready ? "QueueAnswers" : "QueueSilent"},
           {"message", is_ready ? "the batch system answers" : "the batch system is silent"},
           {"lastHeartbeatTime", time}}}},
        {"nodeInfo",
         {{"architecture", "amd64"},
          {"bootID", ""},
          {"containerRuntimeVersion", ""},
          {"kernelVersion", ""},
          {"kubeProxyVersion", ""},
          {"kubeletVersion", "cybelectl"},
          {"machineID", ""},
          {"operatingSystem", "linux"},
          {"osImage", "batch queue " + queue.listed.name},
          {"systemUUID", ""}}}};
    if (listener.port != 0) {
        status["addresses"] = {{{"type", "InternalIP"}, {"address", listener.address}}};
        status["daemonEndpoints"] = {{"kubeletEndpoint", {{"Port", listener.port}}}};
    }
    return {{"status", std::move(status)}};
}

} // namespace cybele::bridge
