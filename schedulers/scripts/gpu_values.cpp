// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/facts.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/find.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::Job;
using templates::Value;
using templates::Values;

/// A vendor's GPUs. Runtimes only warn where `--nv` or `--rocm` find nothing, so the script counts
/// the devices itself (launch.md 8). A slice of a card that is split (MIG) counts like a card, and
/// its card does not.
struct GpuKind {
    std::string_view vendor;    ///< the Site's word
    std::string_view label;     ///< how the image's label `cybelectl.gpu` begins
    std::string_view option;    ///< of `exec`; empty: the devices in /dev are all that is needed
    std::string_view variable;  ///< that says which devices are the job's
    std::string_view listing;   ///< shell code that prints a line for each
    std::string_view listed_by; ///< for the refusal
};

constexpr std::array kGpuKinds{GpuKind{"nvidia",
                                       "cuda",
                                       "--nv",
                                       "CUDA_VISIBLE_DEVICES",
                                       "nvidia-smi -L 2>/dev/null",
                                       "nvidia-smi -L"},
                               GpuKind{"amd",
                                       "rocm",
                                       "--rocm",
                                       "ROCR_VISIBLE_DEVICES",
                                       "[ ! -e /dev/kfd ] || find /dev/dri -name 'renderD*'",
                                       "/dev/kfd and /dev/dri"},
                               GpuKind{"intel",
                                       "oneapi",
                                       "",
                                       "ZE_AFFINITY_MASK",
                                       "find /dev/dri -name 'renderD*' 2>/dev/null",
                                       "/dev/dri"}};

/// Whose they are is not known where no container is started. HIP, for AMD's, reads the variable of
/// NVIDIA's, too.
constexpr GpuKind kAnyGpu{"",
                          "",
                          "",
                          "CUDA_VISIBLE_DEVICES",
                          "{ nvidia-smi -L || find /dev/dri -name 'renderD*'; } 2>/dev/null",
                          "nvidia-smi -L and /dev/dri"};

const GpuKind* kind_of_image(const RenderInput& input) {
    if (input.facts == nullptr || !input.facts->labels.contains("cybelectl.gpu")) {
        return nullptr;
    }
    const std::string_view label = input.facts->labels.at("cybelectl.gpu");
    return find_row(kGpuKinds,
                    [label](const GpuKind& kind) { return label.starts_with(kind.label); });
}

const GpuKind* kind_of_queue(const launchers::LaunchPlan& plan) {
    return find_row(kGpuKinds, plan.gpu_vendor, &GpuKind::vendor);
}

/// By the image's label, else as the Site says of the queue; where neither says it, NVIDIA's.
const GpuKind& gpu_kind(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    const GpuKind* there = kind_of_queue(rendering.plan);
    if (!job.image) {
        return there == nullptr ? kAnyGpu : *there;
    }
    const GpuKind* wanted = kind_of_image(rendering.input);
    if (wanted != nullptr && there != nullptr && wanted != there) {
        rendering.faults.add(job.fault_at(
            launchers::field_of_gpus(job.resources),
            problem("gpu-vendor-mismatch",
                    fmt::format("the image is made for {}, and queue '{}' has GPUs of {}",
                                wanted->label,
                                rendering.plan.queue,
                                there->vendor)),
            fmt::format("it is set by site '{}'", rendering.input.site->name),
            fmt::format("build the image with `gpu: {}`, or choose a queue with GPUs of {}",
                        there->label,
                        wanted->vendor)));
    }
    if (wanted != nullptr) {
        return *wanted;
    }
    return there == nullptr ? kGpuKinds.front() : *there;
}

/// How many GPUs the first node must have; 0: the batch system places those of the job itself.
std::uint32_t gpus_to_check(const launchers::Job& job) {
    const auto& resources = job.resources;
    const bool is_placed =
        resources.gpus_per_node > 0 || (job.says("resources.nodes") && resources.nodes == 1);
    return job.launch.asks_as_written() && !is_placed ? 0 : launchers::gpus_of_node(resources);
}

/// Empty text is a value that is not there.
Value text_or_none(std::string_view text) {
    return text.empty() ? Value() : Value(std::string(text));
}

} // namespace

void add_gpus(const Rendering& rendering, Values& values) {
    const auto& resources = rendering.input.job->resources;
    const auto count = launchers::gpus_of_node(resources);
    for (const char* name :
         {"gpus", "checked-gpus", "gpu-option", "gpu-variable", "visible-devices"}) {
        values[name] = Value();
    }
    if (count == 0) {
        return;
    }
    const GpuKind& kind = gpu_kind(rendering);
    values["gpus"] = count;
    if (const std::uint32_t checked = gpus_to_check(*rendering.input.job); checked != 0) {
        values["checked-gpus"] = checked;
    }
    values["gpu-option"] = text_or_none(kind.option);
    values["gpu-variable"] = text_or_none(kind.variable);
    values["visible-devices"] =
        rendering.plan.uses_node_file ? text_or_none(kind.variable) : Value();
    if (rendering.dialect.name == "pbspro" && !kind.variable.empty()) {
        Fault note = rendering.input.job->fault_at(
            launchers::field_of_gpus(resources),
            problem(
                "pbs-gpu-variable",
                fmt::format("PBS sets {} only where the site has its cgroup hook", kind.variable)),
            "without it the job sees all GPUs of the node, as do other jobs there",
            "ask the site, or let the job have the node alone: `exclusive: true`");
        note.is_warning = true;
        rendering.faults.add(std::move(note));
    }
    values["gpu-listing"] = std::string(kind.listing);
    values["gpu-listed-by"] = std::string(kind.listed_by);
    values["gpu-what"] =
        fmt::format("this job needs {} {} on a node", count, count == 1 ? "GPU" : "GPUs");
    values["gpu-help"] = rendering.input.job->image
                             ? "ask for nodes with GPUs and their driver; the image's Recipe says "
                               "whose (gpu)"
                             : "ask for nodes with GPUs and their driver";
}

} // namespace cybele::schedulers
