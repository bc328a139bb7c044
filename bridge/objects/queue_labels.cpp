// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/queue_labels.hpp"

#include "support/characters.hpp"
#include "support/text.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace cybele::bridge {
namespace {

bool is_value_of_label(std::string_view text) {
    return !text.empty() && text.size() <= 63 &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-") == std::string_view::npos;
}

} // namespace

std::string node_name(const std::string& prefix, const std::string& queue) {
    std::string name = prefix + "-" + text::lowered(queue);
    for (char& letter : name) {
        const bool is_plain = is_lower_or_digit(letter);
        letter = is_plain || letter == '.' ? letter : '-';
    }
    while (name.ends_with('-') || name.ends_with('.')) {
        name.pop_back();
    }
    return name;
}

std::map<std::string, std::string> queue_labels(const launchers::Bridge& document,
                                                const launchers::SiteQueue& queue) {
    std::map<std::string, std::string> labels{{"type", "virtual-kubelet"},
                                              {"cybelectl.io/bridge", document.name},
                                              {"cybelectl.io/queue", queue.name},
                                              {"wlm.sylabs.io/partition", queue.name},
                                              {"wlm.sylabs.io/containers", "singularity"}};
    for (const auto& [key, value] :
         document.virtual_nodes.value_or(launchers::BridgeNodes()).labels) {
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
    std::erase_if(labels, [](const auto& label) { return !is_value_of_label(label.second); });
    return labels;
}

std::map<std::string, std::string> selectable_labels(const launchers::Bridge& document,
                                                     const launchers::SiteQueue& queue) {
    auto labels = queue_labels(document, queue);
    if (document.virtual_nodes && !queue.name.empty()) {
        labels.emplace("kubernetes.io/hostname",
                       node_name(document.virtual_nodes->prefix, queue.name));
    }
    return labels;
}

} // namespace cybele::bridge
