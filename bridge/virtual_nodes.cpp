// SPDX-License-Identifier: Apache-2.0
#include "bridge/virtual_nodes.hpp"

#include "apiserver/micro_time.hpp"
#include "apiserver/patch.hpp"
#include "bridge/api_server.hpp"
#include "bridge/times.hpp"
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/batch_script.hpp"
#include "support/boot_time.hpp"
#include "support/json.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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
constexpr std::string_view kBridgeLabel = "cybelectl.io/bridge";
constexpr std::string_view kUidLabel = "cybelectl.io/uid";
constexpr const char* kContainers[] = {"batch", "batch-stderr"};

const ViewJson& view_part(const ViewJson& json, std::string_view name) {
    static const ViewJson none = ViewJson::object();
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found == json.end() ? none : *found;
}

std::string view_text(const ViewJson& json, std::string_view name) {
    const ViewJson& value = view_part(json, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

launchers::BridgeNodes view_settings(const Configuration& configuration) {
    return configuration.document.virtual_nodes.value_or(launchers::BridgeNodes());
}

std::string node_of(const Configuration& configuration, const std::string& queue) {
    return view_settings(configuration).prefix + "-" + queue;
}

bool is_label_of_node(std::string_view text) {
    return !text.empty() && text.size() <= 63 &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-") == std::string_view::npos;
}

/// The queue of an object, as the Site names it; its first where the object's is another.
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

std::string phase_of_pod(const Status& status) {
    if (status.phase == "Succeeded" || status.phase == "Failed" || status.phase == "Running") {
        return status.phase;
    }
    return status.phase == "Unknown" ? "Failed" : "Pending";
}

bool is_terminal(const Object& object) {
    return object.status.holds("Complete") || object.status.holds("Failed");
}

/// What of a pod's status changes: compared, so that equal ones are not written.
std::string shown_of(const ViewJson& status) {
    const ViewJson& statuses = view_part(status, "containerStatuses");
    const ViewJson code =
        statuses.is_array() && !statuses.empty()
            ? view_part(view_part(view_part(statuses[0], "state"), "terminated"), "exitCode")
            : ViewJson::object();
    return view_text(status, "phase") + "|" + view_text(status, "reason") + "|" + code.dump();
}

ViewJson state_of_container(const Object& object) {
    const Status& status = object.status;
    const std::string phase = phase_of_pod(status);
    if (phase == "Pending") {
        return {{"waiting", {{"reason", status.state.empty() ? "Waiting" : status.state}}}};
    }
    if (phase == "Running") {
        return {{"running", {{"startedAt", time_text(status.started)}}}};
    }
    ViewJson ended{{"exitCode", status.exit_code.value_or(phase == "Succeeded" ? 0 : 1)},
                   {"reason", phase == "Succeeded" ? "Completed" : "Error"}};
    if (status.signal.value_or(0) != 0) {
        ended["signal"] = *status.signal;
    }
    if (status.started != 0) {
        ended["startedAt"] = time_text(status.started);
    }
    if (status.ended != 0) {
        ended["finishedAt"] = time_text(status.ended);
    }
    return {{"terminated", std::move(ended)}};
}

} // namespace

ViewJson node_json(const Configuration& configuration, const launchers::SiteQueue& queue) {
    ViewJson labels{{"type", "virtual-kubelet"},
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

ViewJson
node_status_json(const launchers::SiteQueue& queue, bool is_ready, std::int64_t heartbeat) {
    ViewJson capacity{{"pods", "10000"}};
    if (queue.nodes) {
        const std::uint64_t nodes = *queue.nodes;
        capacity["hpc.cybelectl.io/nodes"] = std::to_string(nodes);
        if (queue.cores_per_node) {
            capacity["cpu"] = std::to_string(nodes * *queue.cores_per_node);
        }
        if (queue.memory_per_node_bytes) {
            capacity["memory"] = std::to_string(nodes * *queue.memory_per_node_bytes);
        }
    }
    const std::string time = time_text(heartbeat);
    return {{"status",
             {{"capacity", capacity},
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
                {"osImage", "batch queue " + queue.name},
                {"systemUUID", ""}}}}}};
}

ViewJson pod_json(const Configuration& configuration, const Object& object) {
    ViewJson containers = ViewJson::array();
    for (const char* name : kContainers) {
        containers.push_back(
            {{"name", name},
             {"image", "no-image"},
             {"imagePullPolicy", "Never"},
             {"securityContext",
              {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}}}}});
    }
    ViewJson tolerations = ViewJson::array();
    for (const char* key : {"node.kubernetes.io/unreachable",
                            "node.kubernetes.io/not-ready",
                            "virtual-kubelet.io/provider"}) {
        tolerations.push_back({{"key", key}, {"operator", "Exists"}});
    }
    const bool is_job = object.form == Form::kJob;
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata",
             {{"name", object.name + "-job"},
              {"namespace", object.space},
              {"labels", {{kBridgeLabel, configuration.document.name}, {kUidLabel, object.uid}}},
              {"ownerReferences",
               {{{"apiVersion", is_job ? "batch/v1" : std::string(kGroupVersion)},
                 {"kind", kind_of(object)},
                 {"name", object.name},
                 {"uid", object.uid}}}}}},
            {"spec",
             {{"nodeName", node_of(configuration, queue_of(configuration, object))},
              {"automountServiceAccountToken", false},
              {"enableServiceLinks", false},
              {"restartPolicy", "Never"},
              {"securityContext",
               {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
              {"tolerations", tolerations},
              {"containers", containers}}}};
}

ViewJson pod_status_json(const Object& object) {
    const Status& status = object.status;
    const std::string phase = phase_of_pod(status);
    const bool is_running = phase == "Running";
    const std::string system = object.kind == Kind::kSlurmJob ? "slurm" : "pbs";
    ViewJson statuses = ViewJson::array();
    for (const char* name : kContainers) {
        statuses.push_back({{"name", name},
                            {"image", "no-image"},
                            {"imageID", ""},
                            {"containerID", system + "://" + status.job_id},
                            {"ready", is_running},
                            {"restartCount", status.restarts},
                            {"state", state_of_container(object)}});
    }
    ViewJson made{{"phase", phase},
                  {"reason", status.reason},
                  {"conditions", {{{"type", "Ready"}, {"status", is_running ? "True" : "False"}}}},
                  {"containerStatuses", statuses}};
    if (status.started != 0) {
        made["startTime"] = time_text(status.started);
    }
    return {{"status", std::move(made)}};
}

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
         node_status_json(queue, is_answered, seconds - seconds % kHeartbeat),
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
