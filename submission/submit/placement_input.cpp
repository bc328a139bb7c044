// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/placement_input.hpp"

#include "schedulers/scripts/render.hpp"

namespace cybele::submission {
namespace {

/// The faults of a rendering, a line each; empty: it can be rendered.
std::vector<std::string> refusals_of(const Result<schedulers::RenderedScript>& rendered) {
    std::vector<std::string> refusals;
    if (!rendered) {
        for (const Fault& fault : rendered.error().faults()) {
            if (!fault.is_warning) {
                refusals.push_back(fault.message);
            }
        }
    }
    return refusals;
}

} // namespace

bool has_bridge(const JobInput& input) {
    return input.site && input.site->kubernetes;
}

PlacementInput placement_input(const JobInput& input,
                               const std::string& asked,
                               const kubernetes::ObjectOptions& object) {
    using launchers::LaunchKind;
    const launchers::Job& job = input.job;
    const launchers::Resources& resources = job.resources;
    PlacementInput known;
    known.asked = asked.empty() ? job.target : asked;
    known.nodes = resources.nodes;
    known.is_mpi = job.launch.kind == LaunchKind::kMpi || job.launch.kind == LaunchKind::kMpiBind ||
                   job.launch.kind == LaunchKind::kHorovod;
    known.cores_per_node = resources.tasks_per_node * resources.cpus_per_task;
    known.memory_per_node_bytes = resources.memory_per_node_bytes;
    if (resources.memory_per_cpu_bytes && !known.memory_per_node_bytes) {
        known.memory_per_node_bytes = *resources.memory_per_cpu_bytes * known.cores_per_node;
    }
    known.time = resources.time;
    known.cluster.refusals = refusals_of(schedulers::render_script(input.render_input()));
    if (has_bridge(input)) {
        known.pod_cores = input.site->kubernetes->pod_cores;
        known.pod_memory_bytes = input.site->kubernetes->pod_memory_bytes;
        known.eviction = input.site->kubernetes->pod_time;
    }
    if (has_bridge(input) || object.kind == kubernetes::kPlainKind) {
        known.kubernetes.refusals =
            refusals_of(kubernetes::render_object(input.render_input(), object));
    } else {
        known.kubernetes.refusals = {"the Site names no bridge (`kubernetes`)"};
    }
    return known;
}

} // namespace cybele::submission
