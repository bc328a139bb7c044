// SPDX-License-Identifier: Apache-2.0
#include "bridge/virtual_nodes.hpp"

#include "apiserver/micro_time.hpp"
#include "apiserver/patch.hpp"
#include "bridge/pod_view.hpp"
#include "support/boot_time.hpp"
#include "support/json.hpp"

#include <utility>

namespace cybele::bridge {
namespace {

using ViewJson = nlohmann::json;
using apiserver::WriteResult;

constexpr std::int64_t kNanosecondsOfView = 1'000'000'000;
constexpr std::int64_t kHeartbeat = 300;
constexpr std::int64_t kLeaseOfNode = 40;
constexpr std::chrono::milliseconds kKeep{10'000};
constexpr std::chrono::milliseconds kPatienceOfView{20'000};
constexpr std::string_view kNodeLeases =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

bool is_terminal(const Object& object) {
    return object.status.holds("Complete") || object.status.holds("Failed");
}

} // namespace

VirtualNodes::VirtualNodes(Settings settings,
                           apiserver::Transport& transport,
                           apiserver::Writer& writer,
                           std::uint64_t seed)
    : settings_(std::move(settings)), transport_(transport), writer_(writer), seed_(seed) {}

std::string VirtualNodes::node_name(const std::string& queue) const {
    return node_of(settings_.configuration, queue);
}

void VirtualNodes::add_to(Pump& pump) {
    std::vector<std::string> spaces = settings_.configuration.document.namespaces;
    if (spaces.empty()) {
        spaces.emplace_back();
    }
    for (const std::string& space : spaces) {
        apiserver::ListWatchSettings settings;
        settings.path = "/api/v1/" + (space.empty() ? "" : "namespaces/" + space + "/") + "pods";
        settings.selector =
            "labelSelector=cybelectl.io%2Fbridge%3D" + settings_.configuration.document.name;
        watches_.push_back(
            std::make_unique<apiserver::ListWatch>(settings, transport_, *this, ++seed_));
        pump.add(*watches_.back());
    }
}

void VirtualNodes::send(std::string method,
                        std::string path,
                        std::string_view type,
                        const ViewJson& body,
                        std::function<void(const WriteResult&)> on_end) {
    apiserver::Write write;
    write.method = std::move(method);
    write.path = std::move(path);
    write.content_type = type;
    write.body = body.dump(-1, ' ', false, ViewJson::error_handler_t::replace);
    write.patience = kPatienceOfView;
    write.on_end = std::move(on_end);
    (void)writer_.submit(std::move(write), boot_time());
}

/// The same words are logged once.
void VirtualNodes::report(const WriteResult& outcome) {
    if (!outcome.error || outcome.kind == WriteResult::Kind::kConflict) {
        return;
    }
    const Fault& fault = outcome.error->faults().front();
    if (settings_.log && reported_.insert(fault.because).second) {
        settings_.log(
            {{}, {}, "Trouble", "virtual nodes: " + fault.message + ": " + fault.because});
    }
}

void VirtualNodes::keep_nodes(apiserver::Moment now, bool is_answered) {
    if (now < due_ || !settings_.may_act()) {
        return;
    }
    due_ = now + kKeep;
    for (const launchers::SiteQueue& queue : settings_.configuration.cluster.queues) {
        keep_node(queue, is_answered);
    }
}

/// An equal status changes nothing on the server, and says whether the node is there.
void VirtualNodes::keep_node(const launchers::SiteQueue& queue, bool is_answered) {
    const std::int64_t seconds = settings_.clock() / kNanosecondsOfView;
    const std::string name = node_name(queue.name);
    send("PATCH",
         "/api/v1/nodes/" + name + "/status",
         apiserver::kMergePatch,
         node_status_json(queue, is_answered, seconds - seconds % kHeartbeat, listener_),
         [this, queue, name](const WriteResult& outcome) {
             if (outcome.kind == WriteResult::Kind::kGone) {
                 make_node(queue);
             } else if (outcome.kind == WriteResult::Kind::kDone) {
                 keep_lease(name,
                            view_text(view_part(parse_json(outcome.body), "metadata"), "uid"));
             }
             report(outcome.kind == WriteResult::Kind::kGone ? WriteResult() : outcome);
         });
}

void VirtualNodes::make_node(const launchers::SiteQueue& queue) {
    if (!settings_.may_act()) {
        return;
    }
    send("POST",
         "/api/v1/nodes",
         apiserver::kJsonBody,
         node_json(settings_.configuration, queue),
         [this, queue](const WriteResult& outcome) {
             report(outcome);
             if (outcome.kind == WriteResult::Kind::kDone) {
                 keep_node(queue, true);
             }
         });
}

void VirtualNodes::keep_lease(const std::string& node, const std::string& uid) {
    const ViewJson spec{{"holderIdentity", node},
                        {"leaseDurationSeconds", kLeaseOfNode},
                        {"renewTime", apiserver::micro_time(settings_.clock())}};
    send("PATCH",
         std::string(kNodeLeases) + "/" + node,
         apiserver::kMergePatch,
         {{"spec", spec}},
         [this, node, uid, spec](const WriteResult& outcome) {
             if (outcome.kind != WriteResult::Kind::kGone) {
                 report(outcome);
                 return;
             }
             send("POST",
                  std::string(kNodeLeases),
                  apiserver::kJsonBody,
                  {{"apiVersion", "coordination.k8s.io/v1"},
                   {"kind", "Lease"},
                   {"metadata",
                    {{"name", node},
                     {"ownerReferences",
                      {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", uid}}}}}},
                   {"spec", spec}},
                  [this](const WriteResult& made) { report(made); });
         });
}

void VirtualNodes::show(const Object& object) {
    if (!is_listed_ || !settings_.may_act() || object.status.job_id.empty() ||
        pending_.contains(object.uid)) {
        return;
    }
    const auto found = pods_.find(object.uid);
    if (found == pods_.end()) {
        if (!is_terminal(object) && object.deleted == 0) {
            make_pod(object);
        }
        return;
    }
    const ViewJson status = pod_status_json(object);
    std::string shown = shown_of(status["status"]);
    if (shown == found->second.shown) {
        return;
    }
    pending_.insert(object.uid);
    send("PATCH",
         found->second.path + "/status",
         apiserver::kMergePatch,
         status,
         [this, uid = object.uid, shown = std::move(shown)](const WriteResult& outcome) {
             pending_.erase(uid);
             report(outcome.kind == WriteResult::Kind::kGone ? WriteResult() : outcome);
             const auto pod = pods_.find(uid);
             if (pod != pods_.end() && outcome.kind == WriteResult::Kind::kDone) {
                 pod->second.shown = shown;
             } else if (pod != pods_.end() && outcome.kind == WriteResult::Kind::kGone) {
                 pods_.erase(pod);
             }
         });
}

void VirtualNodes::make_pod(const Object& object) {
    pending_.insert(object.uid);
    const std::string path = "/api/v1/namespaces/" + object.space + "/pods";
    send("POST",
         path,
         apiserver::kJsonBody,
         pod_json(settings_.configuration, object),
         [this, uid = object.uid, path](const WriteResult& outcome) {
             pending_.erase(uid);
             report(outcome);
             ViewJson pod = parse_json(outcome.body);
             if (outcome.kind == WriteResult::Kind::kDone && pod.is_object()) {
                 on_object(pod);
             }
         });
}

void VirtualNodes::on_list_begin() {
    pods_.clear();
}

void VirtualNodes::on_list_end() {
    is_listed_ = true;
}

void VirtualNodes::on_object(ViewJson& pod) {
    const ViewJson& metadata = view_part(pod, "metadata");
    const std::string owner = view_text(view_part(metadata, "labels"), kUidLabel);
    const std::string uid = view_text(metadata, "uid");
    const std::string path = "/api/v1/namespaces/" + view_text(metadata, "namespace") + "/pods/" +
                             view_text(metadata, "name");
    if (owner.empty() || uid.empty()) {
        return;
    }
    if (metadata.contains("deletionTimestamp") && settings_.may_act()) {
        // No kubelet will say that it has ended.
        send("DELETE",
             path,
             apiserver::kJsonBody,
             parse_json(apiserver::delete_options({uid, {}, 0})));
        return;
    }
    pods_[owner] = {uid, path, shown_of(view_part(pod, "status"))};
}

void VirtualNodes::on_deleted(ViewJson& pod) {
    const ViewJson& metadata = view_part(pod, "metadata");
    const auto found = pods_.find(view_text(view_part(metadata, "labels"), kUidLabel));
    if (found != pods_.end() && found->second.uid == view_text(metadata, "uid")) {
        pods_.erase(found);
    }
}

void VirtualNodes::on_rewound(const std::string& /*seen*/, const std::string& /*now*/) {
    pods_.clear();
}

void VirtualNodes::on_trouble(const Error& error) {
    WriteResult outcome;
    outcome.kind = WriteResult::Kind::kUnavailable;
    outcome.error = error;
    report(outcome);
}

} // namespace cybele::bridge
