// SPDX-License-Identifier: Apache-2.0
#include "bridge/nodes/virtual_nodes.hpp"

#include "apiserver/micro_time.hpp"
#include "apiserver/patch.hpp"
#include "bridge/nodes/pod_view.hpp"
#include "support/boot_time.hpp"
#include "support/find.hpp"
#include "support/json.hpp"

#include <algorithm>
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

constexpr std::chrono::milliseconds kBetweenLists{15'000};
constexpr std::chrono::milliseconds kNameIsTaken{20'000};
constexpr std::chrono::milliseconds kAfterRefusal{300'000};
constexpr const char* kStoppedNote = "cybelectl.io/queue-state";
constexpr std::string_view kNotServed = "NotServed";

/// Of the paths of pods in a namespace; empty: in all.
std::string prefix_of(const std::string& space) {
    return "/api/v1/" + (space.empty() ? "" : "namespaces/" + space + "/");
}

/// The namespaces that the bridge serves; an empty one stands for all.
std::vector<std::string> spaces_of(const Configuration& configuration) {
    const std::vector<std::string>& spaces = configuration.document.namespaces;
    return spaces.empty() ? std::vector<std::string>{""} : spaces;
}

bool is_terminal(const Object& object) {
    return object.status.holds("Complete") || object.status.holds("Failed");
}

} // namespace

/// The pods of one namespace, or of all. A list replaces what was known of that namespace only.
class VirtualNodes::Watcher : public apiserver::Observer {
public:
    Watcher(VirtualNodes& owner, std::string prefix) : owner_(owner), prefix_(std::move(prefix)) {}

    void on_list_begin() override {
        listed_.clear();
    }
    void on_object(ViewJson& pod) override {
        listed_.insert(owner_.put(pod));
    }
    void on_deleted(ViewJson& pod) override {
        owner_.drop(pod);
    }
    void on_list_end() override {
        owner_.drop_others(prefix_, listed_);
        listed_.clear();
    }
    void on_rewound(const std::string& /*seen*/, const std::string& /*now*/) override {
        owner_.drop_others(prefix_, {});
    }
    void on_error(const Error& error) override {
        WriteResult outcome;
        outcome.kind = WriteResult::Kind::kUnavailable;
        outcome.error = error;
        owner_.report(outcome);
    }
    void on_recovered() override {}

private:
    VirtualNodes& owner_;
    std::string prefix_;           ///< of their paths
    std::set<std::string> listed_; ///< by the uid of the object
};

VirtualNodes::~VirtualNodes() = default;

VirtualNodes::VirtualNodes(Settings settings,
                           apiserver::Transport& transport,
                           apiserver::Writer& writer,
                           std::uint64_t seed)
    : settings_(std::move(settings)), transport_(transport), writer_(writer), seed_(seed) {}

std::string VirtualNodes::node_name(const std::string& queue) const {
    return node_of(settings_.configuration, queue);
}

void VirtualNodes::add_to(Pump& pump) {
    for (const std::string& space : spaces_of(settings_.configuration)) {
        apiserver::ListWatchSettings settings;
        const std::string prefix = prefix_of(space);
        settings.path = prefix + "pods";
        settings.selector =
            "labelSelector=cybelectl.io%2Fbridge%3D" + settings_.configuration.document.name;
        watchers_.push_back(std::make_unique<Watcher>(*this, prefix));
        watches_.push_back(std::make_unique<apiserver::ListWatch>(
            settings, transport_, *watchers_.back(), ++seed_));
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
    write.body = json_text(body, -1);
    write.patience = kPatienceOfView;
    write.on_end = std::move(on_end);
    (void)writer_.submit(std::move(write), boot_time());
}

void VirtualNodes::report(const WriteResult& outcome) {
    if (!outcome.error || outcome.kind == WriteResult::Kind::kConflict) {
        return;
    }
    const Fault& fault = outcome.error->faults().front();
    report(fault.message + ": " + fault.because);
}

void VirtualNodes::report(const std::string& words) {
    if (settings_.log && logged_.is_due(words, boot_time())) {
        settings_.log({{}, {}, "Trouble", "virtual nodes: " + words});
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

/// An equal status changes nothing on the server, and says whether the node is there. That of
/// another Bridge, or of a kubelet, is left alone.
void VirtualNodes::keep_node(const launchers::SiteQueue& queue, bool is_answered) {
    const std::int64_t seconds = settings_.clock() / kNanosecondsOfView;
    const std::string name = node_name(queue.name);
    const std::string& bridge = settings_.configuration.document.name;
    ViewJson patch = ViewJson::array(
        {{{"op", "test"}, {"path", "/metadata/labels/cybelectl.io~1bridge"}, {"value", bridge}}});
    const ViewJson status = node_status_json(
        {queue, live_queue(queue.name)}, is_answered, seconds - seconds % kHeartbeat, listener_);
    for (const auto& [field, value] : status["status"].items()) {
        patch.push_back({{"op", "add"}, {"path", "/status/" + field}, {"value", value}});
    }
    send("PATCH",
         "/api/v1/nodes/" + name + "/status",
         apiserver::kJsonPatch,
         patch,
         [this, queue, name](const WriteResult& outcome) {
             if (outcome.kind == WriteResult::Kind::kConflict) {
                 report("node " + name +
                        " was not made by this Bridge; choose another prefix, or delete it");
             }
             if (outcome.kind == WriteResult::Kind::kGone) {
                 make_node(queue);
             } else if (outcome.kind == WriteResult::Kind::kDone) {
                 const ViewJson node = parse_json(outcome.body);
                 keep_lease(name, member_text(member_of(node, "metadata"), "uid"));
                 mark_stopped(queue, node);
             }
             report(outcome.kind == WriteResult::Kind::kGone ? WriteResult() : outcome);
         });
}

const LiveQueue* VirtualNodes::live_queue(const std::string& name) const {
    return find_row(live_, name, &LiveQueue::name);
}

void VirtualNodes::mark_stopped(const launchers::SiteQueue& queue, const ViewJson& node) {
    if (live_.empty()) {
        return;
    }
    const LiveQueue* live = live_queue(queue.name);
    const bool is_stopped = live == nullptr || !live->is_open;
    const bool was_marked =
        member_of(member_of(node, "metadata"), "annotations").contains(kStoppedNote);
    if (is_stopped == was_marked) {
        return;
    }
    const ViewJson note =
        is_stopped ? ViewJson(live == nullptr ? "missing" : "stopped") : ViewJson();
    send("PATCH",
         "/api/v1/nodes/" + node_name(queue.name),
         apiserver::kMergePatch,
         {{"metadata", {{"annotations", {{kStoppedNote, note}}}}},
          {"spec", {{"unschedulable", is_stopped ? ViewJson(true) : ViewJson()}}}},
         [this](const WriteResult& outcome) {
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

/// Else a pod could be made that is there.
bool VirtualNodes::is_listed() const {
    return std::ranges::all_of(watches_, [](const auto& watch) { return watch->is_settled(); });
}

void VirtualNodes::show(const Object& object) {
    if (!is_listed() || !settings_.may_act() || object.status.job_id.empty() ||
        pending_.contains(object.uid)) {
        return;
    }
    const auto found = pods_.find(object.uid);
    if (found == pods_.end()) {
        const bool is_refused = is_refusing(object.space) || is_refusing(object.uid);
        if (!is_terminal(object) && object.deleted == 0 && !is_refused) {
            make_pod(object);
        }
        return;
    }
    if (found->second.is_leaving) {
        remove(found->second);
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

/// The pod of a deleted namesake goes within seconds; the pod of another object or person stays.
bool VirtualNodes::is_name_taken(const std::string& uid) const {
    const auto found = taken_since_.find(uid);
    return found != taken_since_.end() && boot_time() - found->second >= kNameIsTaken;
}

/// Such as by a quota for pods: a try for each job in each round would hold up other writes.
bool VirtualNodes::is_refusing(const std::string& space_or_uid) {
    const auto found = refused_.find(space_or_uid);
    if (found != refused_.end() && boot_time() - found->second >= kAfterRefusal) {
        refused_.erase(found);
        return false;
    }
    return found != refused_.end();
}

void VirtualNodes::note_refused(const std::string& space_or_uid) {
    const apiserver::Moment now = boot_time();
    std::erase_if(refused_, [now](const auto& one) { return now - one.second >= kAfterRefusal; });
    refused_[space_or_uid] = now;
}

void VirtualNodes::make_pod(const Object& object) {
    pending_.insert(object.uid);
    const std::string name = pod_name(object, is_name_taken(object.uid));
    send("POST",
         prefix_of(object.space) + "pods",
         apiserver::kJsonBody,
         pod_json(settings_.configuration, object, name),
         [this, uid = object.uid, space = object.space](const WriteResult& outcome) {
             pending_.erase(uid);
             if (outcome.kind == WriteResult::Kind::kConflict) {
                 taken_since_.emplace(uid, boot_time());
             } else if (outcome.kind == WriteResult::Kind::kForbidden) {
                 report("namespace " + space + " admits no further pod of a job");
                 note_refused(space);
             } else if (outcome.kind == WriteResult::Kind::kRefused) {
                 note_refused(uid);
             }
             report(outcome);
             const ViewJson pod = parse_json(outcome.body);
             if (outcome.kind == WriteResult::Kind::kDone && pod.is_object()) {
                 put(pod);
             }
         });
}

std::string VirtualNodes::put(const ViewJson& pod) {
    const ViewJson& metadata = member_of(pod, "metadata");
    std::string owner = member_text(member_of(metadata, "labels"), kUidLabel);
    const std::string uid = member_text(metadata, "uid");
    const std::string path =
        prefix_of(member_text(metadata, "namespace")) + "pods/" + member_text(metadata, "name");
    if (owner.empty() || uid.empty()) {
        return {};
    }
    taken_since_.erase(owner);
    const bool is_leaving = metadata.contains("deletionTimestamp");
    const Pod& known = pods_[owner] = {uid, path, shown_of(member_of(pod, "status")), is_leaving};
    if (is_leaving && settings_.may_act()) {
        remove(known);
    }
    return owner;
}

/// No kubelet will say that it has ended.
void VirtualNodes::remove(const Pod& pod) {
    send("DELETE",
         pod.path,
         apiserver::kJsonBody,
         parse_json(apiserver::delete_options({pod.uid, {}, 0})));
}

void VirtualNodes::drop(const ViewJson& pod) {
    const ViewJson& metadata = member_of(pod, "metadata");
    const auto found = pods_.find(member_text(member_of(metadata, "labels"), kUidLabel));
    if (found != pods_.end() && found->second.uid == member_text(metadata, "uid")) {
        pods_.erase(found);
    }
}

bool VirtualNodes::has_pods(const std::string& space) const {
    return std::ranges::any_of(pods_, [prefix = prefix_of(space)](const auto& one) {
        return one.second.path.starts_with(prefix);
    });
}

void VirtualNodes::drop_others(const std::string& prefix, const std::set<std::string>& owners) {
    std::erase_if(pods_, [&](const auto& entry) {
        return entry.second.path.starts_with(prefix) && !owners.contains(entry.first);
    });
}

std::optional<std::string> VirtualNodes::due_list(apiserver::Moment now) {
    const auto& queues = settings_.configuration.cluster.queues;
    if (now < due_list_ || !settings_.may_act() || queues.empty()) {
        return std::nullopt;
    }
    due_list_ = now + kBetweenLists;
    const std::vector<std::string> spaces = spaces_of(settings_.configuration);
    const std::size_t at = next_list_++ % (queues.size() * spaces.size());
    return prefix_of(spaces[at / queues.size()]) + "pods?limit=100&fieldSelector=spec.nodeName%3D" +
           node_name(queues[at % queues.size()].name) +
           "&labelSelector=%21cybelectl.io%2Fbridge"; // nor pods of another Bridge
}

void VirtualNodes::refuse_others(const ViewJson& list) {
    const ViewJson& items = member_of(list, "items");
    for (const ViewJson& pod : items.is_array() ? items : ViewJson::array()) {
        const ViewJson& metadata = member_of(pod, "metadata");
        if (member_text(member_of(pod, "status"), "reason") == kNotServed) {
            continue;
        }
        send("PATCH",
             prefix_of(member_text(metadata, "namespace")) + "pods/" +
                 member_text(metadata, "name") + "/status",
             apiserver::kMergePatch,
             {{"metadata", {{"resourceVersion", member_text(metadata, "resourceVersion")}}},
              {"status",
               {{"reason", kNotServed},
                {"message",
                 "this node stands for a queue of a batch system, and runs no pods; create a "
                 "SlurmJob or TorqueJob"}}}},
             [this](const WriteResult& outcome) {
                 report(outcome.kind == WriteResult::Kind::kGone ? WriteResult() : outcome);
             });
    }
}

} // namespace cybele::bridge
