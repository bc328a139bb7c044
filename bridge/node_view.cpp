// SPDX-License-Identifier: Apache-2.0
#include "bridge/node_view.hpp"

#include "bridge/times.hpp"
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/batch_script.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

using NodeJson = nlohmann::json;

launchers::BridgeNodes view_settings(const Configuration& configuration) {
    return configuration.document.virtual_nodes.value_or(launchers::BridgeNodes());
}

bool is_label_of_node(std::string_view text) {
    return !text.empty() && text.size() <= 63 &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-") == std::string_view::npos;
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
    return view_settings(configuration).prefix + "-" + queue;
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
    const bool is_known =
        std::any_of(queues.begin(), queues.end(), [&](const launchers::SiteQueue& row) {
            return row.name == queue;
        });
    return is_known ? queue : queues.front().name;
}

nlohmann::json node_json(const Configuration& configuration, const launchers::SiteQueue& queue) {
    NodeJson labels{{"type", "virtual-kubelet"},
                    {kBridgeLabel, configuration.document.name},
                    {"cybelectl.io/queue", queue.name},
                    {"wlm.sylabs.io/partition", queue.name}};
    const launchers::BridgeNodes settings = view_settings(configuration);
    for (const auto& [key, value] : settings.labels) {
        labels[key] = value;
    }
    const auto add = [&labels](const char* name, const auto& value) {
        if (value) {
            labels[name] = std::to_string(*value);
        }
    };
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    add("wlm.sylabs.io/nodes", queue.nodes);
    add("wlm.sylabs.io/cpu-per-node", queue.cores_per_node);
    if (queue.memory_per_node_bytes) {
        labels["wlm.sylabs.io/mem-per-node"] =
            std::to_string(*queue.memory_per_node_bytes / kMebibyte);
    }
    if (queue.max_time) {
        labels["wlm.sylabs.io/wall-time"] = std::to_string(queue.max_time->count());
    }
    for (auto at = labels.begin(); at != labels.end();) {
        at = is_label_of_node(at->get_ref<const std::string&>()) ? std::next(at) : labels.erase(at);
    }
    return {{"apiVersion", "v1"},
            {"kind", "Node"},
            {"metadata", {{"name", node_of(configuration, queue.name)}, {"labels", labels}}},
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
