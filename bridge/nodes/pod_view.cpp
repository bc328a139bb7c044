// SPDX-License-Identifier: Apache-2.0
#include "bridge/nodes/pod_view.hpp"

#include "bridge/nodes/node_view.hpp"
#include "bridge/objects/times.hpp"
#include "bridge/server/api_server.hpp"
#include "support/json.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

using PodJson = nlohmann::json;

constexpr std::string_view kContainers[] = {kContainerOfOutput, kContainerOfErrors};

std::string phase_of_pod(const Status& status) {
    if (status.phase == "Succeeded" || status.phase == "Failed" || status.phase == "Running") {
        return status.phase;
    }
    return status.phase == "Unknown" ? "Failed" : "Pending";
}

PodJson state_of_container(const Object& object) {
    const Status& status = object.status;
    const std::string phase = phase_of_pod(status);
    if (phase == "Pending") {
        return {{"waiting", {{"reason", status.state.empty() ? "Waiting" : status.state}}}};
    }
    if (phase == "Running") {
        return {{"running", {{"startedAt", time_text(status.started)}}}};
    }
    PodJson ended{{"exitCode", status.exit_code.value_or(phase == "Succeeded" ? 0 : 1)},
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

std::string shown_of(const PodJson& status) {
    const PodJson& statuses = member_of(status, "containerStatuses");
    const PodJson code =
        statuses.is_array() && !statuses.empty()
            ? member_of(member_of(member_of(statuses[0], "state"), "terminated"), "exitCode")
            : PodJson::object();
    return member_text(status, "phase") + "|" + member_text(status, "reason") + "|" + code.dump();
}

PodJson owner_reference(const Object& object) {
    const bool is_job = object.form == Form::kJob;
    return {{"apiVersion", is_job ? "batch/v1" : std::string(kGroupVersion)},
            {"kind", kind_of(object)},
            {"name", object.name},
            {"uid", object.uid}};
}

std::string pod_name(const Object& object, bool is_taken) {
    constexpr std::size_t kLettersOfUid = 8;
    return object.name + "-job" + (is_taken ? "-" + object.uid.substr(0, kLettersOfUid) : "");
}

PodJson
pod_json(const Configuration& configuration, const Object& object, const std::string& name) {
    PodJson containers = PodJson::array();
    for (const std::string_view container : kContainers) {
        containers.push_back(
            {{"name", container},
             {"image", "no-image"},
             {"imagePullPolicy", "Never"},
             {"securityContext",
              {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}}}}});
    }
    PodJson tolerations = PodJson::array();
    for (const char* key : {"node.kubernetes.io/unreachable",
                            "node.kubernetes.io/not-ready",
                            "virtual-kubelet.io/provider"}) {
        tolerations.push_back({{"key", key}, {"operator", "Exists"}});
    }
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata",
             {{"name", name},
              {"namespace", object.space},
              {"labels", {{kBridgeLabel, configuration.document.name}, {kUidLabel, object.uid}}},
              {"ownerReferences", PodJson::array({owner_reference(object)})}}},
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

PodJson pod_status_json(const Object& object) {
    const Status& status = object.status;
    const std::string phase = phase_of_pod(status);
    const bool is_running = phase == "Running";
    const std::string system = object.kind == Kind::kSlurmJob ? "slurm" : "pbs";
    PodJson statuses = PodJson::array();
    for (const std::string_view name : kContainers) {
        statuses.push_back({{"name", name},
                            {"image", "no-image"},
                            {"imageID", ""},
                            {"containerID", system + "://" + status.job_id},
                            {"ready", is_running},
                            {"restartCount", status.restarts},
                            {"state", state_of_container(object)}});
    }
    PodJson made{{"phase", phase},
                 {"reason", status.reason},
                 {"conditions", {{{"type", "Ready"}, {"status", is_running ? "True" : "False"}}}},
                 {"containerStatuses", statuses}};
    if (status.started != 0) {
        made["startTime"] = time_text(status.started);
    }
    return {{"status", std::move(made)}};
}

} // namespace cybele::bridge
