// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/pod_services.hpp"

#include "bridge/service/client_authorities.hpp"
#include "support/json.hpp"

#include <utility>

namespace cybele::bridge {
namespace {

using apiserver::Moment;

constexpr std::int64_t kNanosecondsOfSecond = 1'000'000'000;
constexpr std::chrono::milliseconds kAnswerOfPods{10'000};
constexpr std::chrono::milliseconds kBetweenQueues{300'000};

} // namespace

/// Who listens: the API server asks for output, and pods for results.
PodServices::PodServices(Settings settings,
                         apiserver::Transport& transport,
                         apiserver::Writer& writer,
                         Pump& pump,
                         std::uint64_t seed)
    : settings_(std::move(settings)), pump_(pump) {
    const ServiceRequest& request = settings_.request;
    const launchers::Bridge& document = request.configuration.document;
    if (document.virtual_nodes) { // a view: what it writes is never read again by a round
        VirtualNodes::Settings of_nodes{
            request.configuration, settings_.may_act, request.clock, request.log};
        nodes_ = std::make_unique<VirtualNodes>(std::move(of_nodes), transport, writer, seed);
    }
    if (document.listen) {
        listener_ = std::make_unique<Listener>(request);
    }
    if (!document.collector_image.empty()) {
        constexpr std::uint64_t kSeedOfCollectors = 1000;
        collectors_ = std::make_unique<Collectors>(
            Collectors::Settings{request.configuration,
                                 settings_.may_act,
                                 [&request] { return request.clock() / kNanosecondsOfSecond; }},
            transport,
            writer,
            seed + kSeedOfCollectors);
    }
}

void PodServices::add() {
    if (nodes_) {
        nodes_->add_to(pump_);
    }
    if (collectors_) {
        collectors_->add_to(pump_);
    }
}

void PodServices::keep(Moment now, bool is_batch_system_known) {
    if (listener_ && settings_.may_act() && listener_->is_due(now)) {
        start_listener(now);
    }
    if (nodes_) {
        nodes_->keep_nodes(now, is_batch_system_known);
        refuse_other_pods(now);
    }
}

void PodServices::start_listener(Moment now) {
    const auto authorities = client_authorities(pump_);
    if (!authorities) { // tokens alone are accepted then
        settings_.report("the authorities of clients cannot be read from the API server");
    }
    const auto started = listener_->keep(now, authorities.value_or(""));
    if (!started) {
        const Fault& fault = started.error().faults().front();
        settings_.report(fault.message + ": " + fault.because);
    } else if (*started) {
        const std::string& address = listener_->address();
        const std::string place =
            (address.find(':') == std::string::npos ? address : "[" + address + "]") + ":" +
            std::to_string(listener_->port());
        if (settings_.request.log) {
            settings_.request.log({{}, {}, "Listening", place});
        }
        if (nodes_) {
            nodes_->listen_at({address, listener_->port()});
        }
        if (collectors_) {
            collectors_->serve_at(place, listener_->certificate());
        }
    }
}

void PodServices::refuse_other_pods(Moment now) {
    if (const auto path = nodes_->due_list(now)) {
        const auto reply = pump_.get(*path, kAnswerOfPods);
        if (reply && reply->ok()) {
            nodes_->refuse_others(parse_json(reply->body));
        }
    }
}

void PodServices::read_again(Moment now) {
    if (nodes_) {
        put_back(nodes_->watches(), now);
    }
    if (collectors_) {
        put_back(collectors_->watches(), now);
    }
}

void PodServices::show(const Rounds& rounds, const World& world) {
    if (!nodes_) {
        return;
    }
    rounds.each([&](const Object& object) {
        if (!is_elsewhere(object, world)) {
            nodes_->show(object);
        }
    });
}

bool PodServices::are_queues_due(Moment now) {
    if (!nodes_ || now < next_queues_) {
        return false;
    }
    next_queues_ = now + kBetweenQueues;
    return true;
}

void PodServices::show_queues(std::vector<LiveQueue> queues) {
    nodes_->show_queues(std::move(queues));
}

std::optional<Collected> PodServices::collect(const Object& object) {
    return collectors_ ? collectors_->collect(object) : std::nullopt;
}

bool PodServices::has_pods(const std::string& space) const {
    return nodes_ && nodes_->has_pods(space);
}

} // namespace cybele::bridge
