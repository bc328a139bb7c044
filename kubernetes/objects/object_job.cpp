// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/object.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

using launchers::Job;
using launchers::LaunchKind;

bool needs_script(const Job& job) {
    return !job.expanded.empty() || !job.folders.empty() || !job.image_copy.text.empty() ||
           !job.input.text.empty() || !job.setup.empty() || !job.teardown.empty() ||
           !job.modules.empty() || !job.arguments.empty();
}

/// `0-9` or `0-9%2`, which an Indexed Job counts too.
struct IndexRange {
    std::int64_t count = 0;
    std::int64_t at_once = 0;
};

std::optional<IndexRange> index_range(std::string_view text) {
    constexpr std::string_view kFromZero = "0-";
    IndexRange range;
    if (!text.starts_with(kFromZero)) {
        return std::nullopt;
    }
    const char* const end = text.data() + text.size();
    const auto last = std::from_chars(text.data() + kFromZero.size(), end, range.count);
    ++range.count;
    range.at_once = range.count;
    if (last.ec == std::errc() && last.ptr != end && *last.ptr == '%') {
        const auto most = std::from_chars(last.ptr + 1, end, range.at_once);
        return most.ec == std::errc() && most.ptr == end ? std::optional(range) : std::nullopt;
    }
    return last.ec == std::errc() && last.ptr == end ? std::optional(range) : std::nullopt;
}

constexpr std::array kUnservedByJob{
    Unserved{"resources.nodes",
             [](const Job& job) { return job.resources.nodes > 1; },
             "a pod is on one node",
             "use the cluster: `--target cluster`"},
    Unserved{"launch",
             [](const Job& job) {
                 return job.launch.kind != LaunchKind::kSerial &&
                        job.launch.kind != LaunchKind::kOpenmp;
             },
             "Kubernetes starts one process per pod",
             "use the cluster: `--target cluster`"},
    Unserved{"resources.tasks",
             [](const Job& job) { return job.resources.tasks > 1; },
             "Kubernetes starts one process per pod",
             "write an array, or use the cluster"},
    Unserved{"resources.memory",
             [](const Job& job) { return job.resources.has_all_memory; },
             "a pod asks for memory by its amount",
             "write the amount, such as `memory: 8G`"},
    Unserved{"resources.licenses",
             [](const Job& job) { return !job.resources.licenses.empty(); },
             "Kubernetes counts no licenses",
             "use the cluster: `--target cluster`"},
    Unserved{"resources.gres",
             [](const Job& job) { return !job.resources.gres.empty(); },
             "these resources are the batch system's",
             "use the cluster: `--target cluster`"},
    Unserved{"begin",
             [](const Job& job) { return !job.begin.empty(); },
             "a Job of Kubernetes begins as soon as it can",
             "create it when it should begin"},
    Unserved{"signal",
             [](const Job& job) { return job.signal.has_value(); },
             "a pod gets TERM alone, when its time is over",
             "use the cluster: `--target cluster`"},
    Unserved{"array",
             [](const Job& job) { return !job.array.empty() && !index_range(job.array); },
             "the pods of a Job have the indexes from 0 on",
             "write it like `0-9` or `0-9%2`"},
    Unserved{"sweep",
             [](const Job& job) { return job.sweep.has_value(); },
             "the rows are given to a job by a script that a pod has not",
             "use the cluster: `--target cluster`"},
    Unserved{"script",
             needs_script,
             "`modules`, `setup`, `teardown`, `arguments`, `expand`, `make`, `image-copy` and "
             "`input` are done by a batch script",
             "use the cluster: `--target cluster`"},
    Unserved{"binds",
             [](const Job& job) { return !job.binds.empty(); },
             "the folders of the cluster are not on the nodes of Kubernetes",
             "name a claim in `kubernetes.results`, or use the cluster"},
    Unserved{"stage-in",
             [](const Job& job) { return !job.stage_in.empty(); },
             "nothing copies files into the pod",
             "put the data into the image, or use the cluster"},
    Unserved{"after",
             [](const Job& job) { return !job.after.empty(); },
             "a Job of Kubernetes waits for no other",
             "create it when the other has ended"},
    Unserved{"verify",
             [](const Job& job) { return !job.verify_keys.empty() || !job.verify_policy.empty(); },
             "the container runtime of Kubernetes does not check these signatures",
             "let an admission policy of the cluster check them"},
    Unserved{"environment",
             [](const Job& job) {
                 return std::ranges::any_of(job.environment, [](const auto& entry) {
                     return entry.second.starts_with("@file:");
                 });
             },
             "`@file:` is read by a batch script on the node",
             "make a Secret, and use it in a manifest of your own"},
};

std::string memory_text(std::uint64_t bytes) {
    const std::int64_t amount = mebibytes(bytes);
    return amount % 1024 == 0 ? fmt::format("{}Gi", amount / 1024) : fmt::format("{}Mi", amount);
}

Tree job_resources(const Job& job) {
    Tree::Map amounts{{"cpu", std::to_string(job.resources.cpus_per_task)}};
    if (const auto memory = launchers::memory_of_node(job.resources)) {
        amounts.emplace_back("memory", memory_text(*memory));
    }
    Tree::Map limits = amounts;
    if (const std::uint32_t gpus = launchers::gpus_of_node(job.resources); gpus > 0) {
        limits.emplace_back("nvidia.com/gpu", std::to_string(gpus));
    }
    return Tree::Map{{"requests", std::move(amounts)}, {"limits", std::move(limits)}};
}

/// `@{index}` is a variable of the pod.
std::string with_index(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t mark = std::min(text.find(launchers::kIndexMark, at), text.size());
        result += unexpanded(text.substr(at, mark - at));
        at = mark;
        if (at < text.size()) {
            result += "$(JOB_COMPLETION_INDEX)";
            at += launchers::kIndexMark.size();
        }
    }
    return result;
}

Tree::List job_command(const Job& job) {
    Tree::List words;
    if (!job.script.empty()) {
        const auto shell =
            job.shell.empty() ? std::vector<std::string>{"/bin/sh", "-eu"} : job.shell;
        words.insert(words.end(), shell.begin(), shell.end());
        words.insert(words.end(), {"-c", unexpanded(job.script)});
        if (job.shell_has_name()) {
            words.emplace_back(job.name);
        }
        return words;
    }
    for (const auto& word : job.command) {
        words.emplace_back(with_index(word));
    }
    return words;
}

Tree::List job_environment(const Job& job) {
    Tree::List list;
    if (!job.array.empty()) {
        list.push_back(Tree::Map{{"name", "JOB_COMPLETION_INDEX"},
                                 {"valueFrom",
                                  Tree::Map{{"fieldRef",
                                             Tree::Map{{"fieldPath",
                                                        "metadata.annotations['batch.kubernetes.io/"
                                                        "job-completion-index']"}}}}}});
        list.push_back(
            Tree::Map{{"name", "CYBELE_ARRAY_INDEX"}, {"value", "$(JOB_COMPLETION_INDEX)"}});
    }
    std::map<std::string, std::string> values = job.environment;
    const auto threads = job.launch.threads.value_or(job.resources.cpus_per_task);
    if (!job.launch.has_own_threads) {
        values.emplace("OMP_NUM_THREADS", std::to_string(threads));
    }
    for (const auto& [name, value] : values) {
        list.push_back(Tree::Map{{"name", name}, {"value", with_index(value)}});
    }
    return list;
}

/// The volume of `kubernetes.results`, at its path in the container.
std::optional<Tree> results_volume(const Object& object) {
    const auto results = wlm_results(object);
    if (!results) {
        return std::nullopt;
    }
    const auto wanted = object.job.kubernetes.value_or(launchers::KubernetesTarget());
    Tree::Map volume{{"name", "results"}};
    if (wanted.results_claim.empty()) {
        volume.emplace_back(
            "hostPath",
            Tree::Map{{"path", wanted.results_host_path}, {"type", "DirectoryOrCreate"}});
    } else {
        volume.emplace_back("persistentVolumeClaim",
                            Tree::Map{{"claimName", wanted.results_claim}});
    }
    return volume;
}

std::string container_image(const Object& object) {
    const std::string image = object.job.kubernetes ? object.job.kubernetes->image : "";
    if (image.empty()) {
        object.refuse(
            "kubernetes.image",
            problem("job-without-kubernetes-image", "a Job of Kubernetes needs `kubernetes.image`"),
            "its nodes start images of a registry, and no SIF file of the cluster",
            "write `kubernetes: {image: registry.example.org/NAME:TAG}`");
    }
    constexpr std::string_view kScheme = "docker://";
    return image.starts_with(kScheme) ? image.substr(kScheme.size()) : image;
}

void note_places(const Object& object) {
    if (object.job.workdir.empty()) {
        return;
    }
    Fault fault = object.job.fault_at(
        "workdir",
        problem("job-workdir-without-effect", "`workdir` has no effect in a Job of Kubernetes"),
        "it is a folder of the cluster, and the container has its own",
        "write absolute paths, or leave `workdir` out");
    fault.is_warning = true;
    object.faults.add(std::move(fault));
}

Tree::Map job_pod(const Object& object) {
    Tree::Map container{{"name", "main"}, {"image", container_image(object)}};
    if (auto words = job_command(object.job); !words.empty()) {
        container.emplace_back("command", std::move(words));
    }
    if (auto variables = job_environment(object.job); !variables.empty()) {
        container.emplace_back("env", std::move(variables));
    }
    container.emplace_back("resources", job_resources(object.job));
    const auto volume = results_volume(object);
    if (volume) {
        container.emplace_back(
            "volumeMounts",
            Tree::List{Tree::Map{
                {"name", "results"},
                {"mountPath",
                 object.job.kubernetes.value_or(launchers::KubernetesTarget()).results_path}}});
    }
    Tree::Map pod{{"restartPolicy", "Never"}, {"automountServiceAccountToken", false}};
    Tree::Map selector;
    if (object.job.kubernetes) {
        for (const auto& [key, value] : object.job.kubernetes->node_selector) {
            selector.emplace_back(key, value);
        }
    }
    if (!selector.empty()) {
        pod.emplace_back("nodeSelector", std::move(selector));
    }
    pod.emplace_back("containers", Tree::List{std::move(container)});
    if (volume) {
        pod.emplace_back("volumes", Tree::List{*volume});
    }
    return pod;
}

} // namespace

namespace {

/// What a Job asks for itself is refused (kUnservedByJob); the Site's rule is that of its cluster.
void note_verification(const Object& object) {
    const launchers::Site* site = object.input.site;
    if (site == nullptr || (site->verify_policy.empty() && site->verify_keys.empty())) {
        return;
    }
    Fault fault = object.job.fault_at(
        "kubernetes.image",
        problem("site-verify-not-there",
                fmt::format("the signatures that site '{}' requires are not checked on Kubernetes",
                            site->name)),
        "its container runtime does not know them",
        "let an admission policy of the cluster check images, or use the cluster: `--target "
        "cluster`");
    fault.is_warning = true;
    object.faults.add(std::move(fault));
}

} // namespace

Documents build_job(const Object& object) {
    refuse_asked(object, kUnservedByJob);
    note_places(object);
    note_verification(object);
    Tree::Map spec{{"backoffLimit", std::int64_t{0}}};
    if (object.job.resources.time) {
        spec.emplace_back("activeDeadlineSeconds",
                          std::int64_t{object.job.resources.time->count()});
    }
    if (const auto range = index_range(object.job.array)) {
        spec.emplace_back("completionMode", "Indexed");
        spec.emplace_back("completions", range->count);
        spec.emplace_back("parallelism", range->at_once);
    }
    spec.emplace_back("template", Tree::Map{{"spec", job_pod(object)}});
    return {Tree::Map{{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"metadata", object.metadata(object.job.name)},
                      {"spec", std::move(spec)}}};
}

} // namespace cybele::kubernetes
