// SPDX-License-Identifier: Apache-2.0
#include "cli/submit_kube.hpp"

#include "kubernetes/render.hpp"
#include "schedulers/render.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace cybele::cli {
namespace {

kubernetes::ObjectOptions object_options(const jobs::JobInput& input,
                                         const TargetOptions& options) {
    kubernetes::ObjectOptions object;
    object.kind = options.kind.empty()
                      ? kubernetes::default_kind(input.site ? &*input.site : nullptr)
                      : options.kind;
    object.name_space = options.name_space;
    return object;
}

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

/// `kubectl apply`; gives the names of the objects that it made or changed.
Result<std::string> apply_objects(const Session& session, const std::string& yaml) {
    constexpr std::chrono::minutes kLimit{2};
    if (!find_program("kubectl", session.environment.get_or("PATH", "/usr/bin:/bin"))) {
        return fail(ErrorCode::kEnvironment,
                    "the program 'kubectl' is not here",
                    "by it the objects reach the cluster that your kubeconfig names",
                    "install it, or carry the yaml to where it is: `cybelectl submit JOB --kube`");
    }
    Command command;
    command.argv = {"kubectl", "apply", "-o", "name", "-f", "-"};
    command.environment = session.environment.all();
    command.input = yaml;
    command.limit = kLimit;
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (outcome.timed_out) {
        return fail(ErrorCode::kEnvironment,
                    "kubectl did not answer within two minutes",
                    "it is not known what the server took",
                    "look with `kubectl get`, then apply again: that changes nothing twice");
    }
    if (!outcome.ok()) {
        return fail(ErrorCode::kExecution,
                    "kubectl did not apply the objects",
                    printable(outcome.errors.substr(0, outcome.errors.find_last_not_of('\n') + 1)),
                    "mend what it says; `cybelectl submit JOB --kube` shows the yaml");
    }
    return outcome.output;
}

Result<int>
submit_yaml(Session& session, const jobs::JobInput& input, const TargetOptions& options) {
    if (options.is_followed) {
        return fail(ErrorCode::kUsage,
                    "a job in Kubernetes is not waited for",
                    "the objects belong to Kubernetes from then on",
                    "wait there: kubectl wait --for=condition=complete job/NAME");
    }
    CYBELE_TRY(const schedulers::RenderedScript object,
               kubernetes::render_object(input.render_input(), object_options(input, options)));
    session.note(object.notes);
    if (options.is_dry || (options.is_yaml && !options.is_applied)) {
        Session::print(object.text);
        return 0;
    }
    CYBELE_TRY(const std::string names, apply_objects(session, object.text));
    Session::print(names);
    return 0;
}

} // namespace

void add_target_options(CLI::App& verb, TargetOptions& options) {
    verb.add_option("--target", options.target, "where it runs; the Job's, else cluster")
        ->check(CLI::IsMember({"auto", "cluster", "kubernetes"}));
    verb.add_flag("--explain", options.is_explained, "print the rule of `auto`; submit nothing");
    auto* const yaml = verb.add_flag(
        "--kube", options.is_yaml, "write the yaml of a bridge's object instead of submitting");
    verb.add_flag("--apply", options.is_applied, "--kube, handed to `kubectl apply`")->needs(yaml);
    verb.add_option("--kind", options.kind, "kind of the object; else as `kube render` chooses")
        ->check(CLI::IsMember(kubernetes::kind_names()));
    verb.add_option("--namespace", options.name_space, "the object's; else the Job's")
        ->type_name("NAME");
}

jobs::Placement placement_of(const jobs::JobInput& input, const TargetOptions& options) {
    using launchers::LaunchKind;
    const launchers::Job& job = input.job;
    const launchers::Resources& resources = job.resources;
    jobs::PlacementInput asked;
    asked.asked = options.target.empty() ? job.target : options.target;
    asked.nodes = resources.nodes;
    asked.is_mpi = job.launch.kind == LaunchKind::kMpi || job.launch.kind == LaunchKind::kMpiBind ||
                   job.launch.kind == LaunchKind::kHorovod;
    asked.cores_per_node = resources.tasks_per_node * resources.cpus_per_task;
    asked.memory_per_node_bytes = resources.memory_per_node_bytes;
    if (resources.memory_per_cpu_bytes && !asked.memory_per_node_bytes) {
        asked.memory_per_node_bytes = *resources.memory_per_cpu_bytes * asked.cores_per_node;
    }
    asked.time = resources.time;
    asked.cluster.refusals = refusals_of(schedulers::render_script(input.render_input()));
    asked.kubernetes.refusals = refusals_of(
        kubernetes::render_object(input.render_input(), object_options(input, options)));
    if (!input.site || !input.site->kubernetes) {
        asked.kubernetes.refusals = {"the Site names no bridge (`kubernetes`)"};
    }
    return jobs::place(asked);
}

Result<std::optional<int>>
submit_elsewhere(Session& session, const JobOptions& job, const TargetOptions& options) {
    CYBELE_TRY(const jobs::JobInput input, load_job(session, job));
    if (options.is_yaml && !options.is_explained) {
        CYBELE_TRY(const int code, submit_yaml(session, input, options));
        return std::optional(code);
    }
    const std::string& target = options.target.empty() ? input.job.target : options.target;
    if (target == "cluster" && !options.is_explained) {
        return std::optional<int>();
    }
    const jobs::Placement placement = placement_of(input, options);
    if (options.is_explained) {
        Session::print(session.is_json() ? jobs::placement_json(placement)
                                         : jobs::placement_text(placement));
        return std::optional(0);
    }
    if (!placement.target) {
        return fail(Error(input.job.fault_at("target",
                                             "neither the cluster nor Kubernetes can run this Job",
                                             placement.table[placement.decided].because,
                                             "see the whole table with --explain")));
    }
    if (*placement.target == jobs::Target::kCluster) {
        return std::optional<int>();
    }
    CYBELE_TRY(const int code, submit_yaml(session, input, options));
    return std::optional(code);
}

} // namespace cybele::cli
