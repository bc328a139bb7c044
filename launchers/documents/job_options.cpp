// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job_options.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace cybele::launchers {

void check_count(document::Reading& reading,
                 const std::string& path,
                 std::optional<std::uint32_t> count) {
    if (reading.is_good(path) && count == 0U) {
        reading.complain(path,
                         problem("count-is-zero", fmt::format("'{}' is 0", path)),
                         "it asks for nothing",
                         "write `1`, or more, or remove the line");
    }
}

namespace {

using document::Reading;
using document::View;

std::map<std::string, std::uint32_t> counts_of(const View& view, std::string_view field) {
    std::map<std::string, std::uint32_t> counts;
    for (const auto& [name, text] : view.map(field)) {
        std::uint32_t count = 0;
        std::from_chars(text.data(), text.data() + text.size(), count);
        counts[name] = count;
    }
    return counts;
}

void check_counts(Reading& reading,
                  const std::string& path,
                  const std::map<std::string, std::uint32_t>& counts) {
    for (const auto& [name, count] : counts) {
        check_count(reading, fmt::format("{}.{}", path, name), count);
    }
}

} // namespace

std::uint32_t gpus_of_node(const Resources& resources) {
    if (resources.gpus_per_task > 0) {
        const std::uint64_t product =
            std::uint64_t{resources.gpus_per_task} * resources.tasks_per_node;
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(product, std::numeric_limits<std::uint32_t>::max()));
    }
    if (resources.gpus > 0) {
        return resources.nodes == 1 ? resources.gpus : 1;
    }
    return resources.gpus_per_node;
}

std::string_view field_of_gpus(const Resources& resources) {
    return resources.gpus_per_task > 0 ? "resources.gpus-per-task"
           : resources.gpus > 0        ? "resources.gpus"
                                       : "resources.gpus-per-node";
}

GpuForm gpu_form_of(std::string_view word) {
    return word == "gres"            ? GpuForm::kGres
           : word == "gpus-per-task" ? GpuForm::kPerTask
                                     : GpuForm::kPerNode;
}

void read_resource_options(const View& view, Resources& resources) {
    const View gpus_of_each = view.table("gpus-per-node");
    if (gpus_of_each.has("form")) {
        resources.gpu_form = gpu_form_of(gpus_of_each.text("form"));
    }
    for (const char* field : {"gpus", "gpus-per-task"}) {
        const View gpus = view.table(field);
        const bool is_total = std::string_view(field) == "gpus";
        (is_total ? resources.gpus : resources.gpus_per_task) =
            gpus.maybe_count("count").value_or(0);
        if (gpus.has("type")) {
            resources.gpu_type = gpus.text("type");
        }
    }
    resources.cpus_per_gpu = view.maybe_count("cpus-per-gpu");
    resources.memory_per_gpu_bytes = view.maybe_size("memory-per-gpu");
    resources.has_all_memory = view.has("memory");
    resources.hosts = view.list("hosts");
    resources.exclude = view.list("exclude");
    resources.threads_per_core = view.maybe_count("threads-per-core");
    resources.licenses = counts_of(view, "licenses");
    resources.gres = counts_of(view, "gres");
}

void read_job_options(const View& root, Job& job) {
    job.reservation = root.text("reservation");
    job.begin = root.text("begin");
    job.comment = root.text("comment");
    if (root.has("requeue")) {
        job.requeue = root.flag("requeue");
    }
    if (root.has("append-output")) {
        job.append_output = root.flag("append-output");
    }
}

void check_options(Reading& reading, const Job& job) {
    const Resources& wanted = job.resources;
    const auto if_written = [&reading](const char* path, std::uint32_t count) {
        return reading.marks().contains(path) ? std::optional(count) : std::nullopt;
    };
    check_count(reading, "resources.gpus", if_written("resources.gpus", wanted.gpus));
    check_count(reading,
                "resources.gpus-per-task",
                if_written("resources.gpus-per-task", wanted.gpus_per_task));
    check_count(reading, "resources.cpus-per-gpu", wanted.cpus_per_gpu);
    check_count(reading, "resources.threads-per-core", wanted.threads_per_core);
    check_counts(reading, "resources.licenses", wanted.licenses);
    check_counts(reading, "resources.gres", wanted.gres);
}

} // namespace cybele::launchers
