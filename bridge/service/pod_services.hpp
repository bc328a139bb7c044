// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/nodes/collectors.hpp"
#include "bridge/nodes/virtual_nodes.hpp"
#include "bridge/rounds/rounds.hpp"
#include "bridge/service/listener.hpp"
#include "bridge/service/service.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cybele::bridge {

/// What a bridge does with pods where its document asks for that: it shows jobs as pods of virtual
/// nodes, makes the pods that copy results, and listens to both.
class PodServices {
public:
    struct Settings {
        const ServiceRequest& request;
        std::function<bool()> may_act;                  ///< the Lease is this process's
        std::function<void(const std::string&)> report; ///< failures
    };
    PodServices(Settings settings,
                apiserver::Transport& transport,
                apiserver::Writer& writer,
                Pump& pump,
                std::uint64_t seed);

    /// Watches the pods.
    void add();
    /// Keeps the listener and the nodes; often, it knows when it is time.
    void keep(apiserver::Moment now, bool is_batch_system_known);
    /// After the API server's past came back: what it lists is read again.
    void read_again(apiserver::Moment now);
    /// Shows the objects as pods.
    void show(const Rounds& rounds, const World& world);
    /// Whether what the batch system says of its queues is asked for now.
    [[nodiscard]] bool are_queues_due(apiserver::Moment now);
    void show_queues(std::vector<LiveQueue> queues);
    [[nodiscard]] std::optional<Collected> collect(const Object& object);
    /// Of the view, in the namespace.
    [[nodiscard]] bool has_pods(const std::string& space) const;
    [[nodiscard]] bool is_listening() const {
        return listener_ != nullptr;
    }

private:
    void start_listener(apiserver::Moment now);
    void refuse_other_pods(apiserver::Moment now);

    Settings settings_;
    Pump& pump_;
    std::unique_ptr<VirtualNodes> nodes_;
    std::unique_ptr<Collectors> collectors_;
    std::unique_ptr<Listener> listener_;
    apiserver::Moment next_queues_{0};
};

} // namespace cybele::bridge
