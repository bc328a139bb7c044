// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/plan_parts.hpp"
#include "support/document.hpp"
#include "support/duration.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"
#include "support/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

const SiteQueue* queue_called(const Site& site, std::string_view name) {
    return find_row(site.queues, name, &SiteQueue::name);
}

/// The queues that the job may go to: those that it names (Slurm reads `a,b`), else all of the
/// Site. Null stands for one that the Site does not know.
std::vector<const SiteQueue*> candidates(const Job& job, const Site& site) {
    std::vector<const SiteQueue*> queues;
    if (job.queue.empty()) {
        for (const SiteQueue& queue : site.queues) {
            queues.push_back(&queue);
        }
        return queues;
    }
    for (const std::string_view name : text::split(job.queue, ',')) {
        queues.push_back(queue_called(site, name));
    }
    return queues;
}

/// Each name that the Site does not know.
void refuse_queues(const Job& job, const Site& site, Faults& faults) {
    std::vector<std::string_view> names;
    names.reserve(site.queues.size());
    for (const auto& queue : site.queues) {
        names.emplace_back(queue.name);
    }
    for (const std::string_view name : text::split(job.queue, ',')) {
        if (queue_called(site, name) != nullptr) {
            continue;
        }
        const std::string near = nearest(std::string(name), names);
        faults.add(job.fault_at(
            "queue",
            problem("queue-unknown",
                    fmt::format("site '{}' has no queue '{}'", site.name, printable(name))),
            fmt::format("it lists {}", fmt::join(names, ", ")),
            fmt::format("write `queue: {}`", near.empty() ? std::string(names.front()) : near)));
    }
}

/// One limit: what is asked, what there is, both also as text.
struct Limit {
    std::string_view field;
    std::string_view noun;
    std::uint64_t asked = 0;
    std::optional<std::uint64_t> most;
    std::string asked_text;
    std::string most_text;
};

Limit limit_of_count(std::string_view field,
                     std::string_view noun,
                     std::uint64_t asked,
                     std::optional<std::uint64_t> most) {
    return {field, noun, asked, most, std::to_string(asked), std::to_string(most.value_or(0))};
}

Limit sized(std::string_view field, std::uint64_t asked, std::optional<std::uint64_t> most) {
    return {field,
            "of memory per node",
            asked,
            most,
            format_size(asked),
            format_size(most.value_or(0))};
}

std::vector<Limit> limits_of(const Resources& resources, const SiteQueue& queue) {
    const std::uint64_t cores = std::uint64_t{resources.tasks_per_node} * resources.cpus_per_task;
    std::vector<Limit> limits{
        limit_of_count("resources.nodes", "nodes", resources.nodes, queue.nodes),
        limit_of_count("resources.tasks-per-node", "cores per node", cores, queue.cores_per_node),
        limit_of_count(field_of_gpus(resources),
                       "GPUs per node",
                       gpus_of_node(resources),
                       queue.gpus_per_node)};
    if (resources.memory_per_node_bytes) {
        limits.push_back(sized("resources.memory-per-node",
                               *resources.memory_per_node_bytes,
                               queue.memory_per_node_bytes));
    }
    const auto memory = memory_of_node(resources);
    if (memory && resources.memory_per_cpu_bytes) {
        limits.push_back(sized("resources.memory-per-cpu", *memory, queue.memory_per_node_bytes));
    }
    if (resources.time && queue.max_time) {
        limits.push_back({"resources.time",
                          "of time",
                          static_cast<std::uint64_t>(resources.time->count()),
                          static_cast<std::uint64_t>(queue.max_time->count()),
                          format_duration(*resources.time),
                          format_duration(*queue.max_time)});
    }
    return limits;
}

bool fits(const Resources& resources, const SiteQueue& queue) {
    const auto limits = limits_of(resources, queue);
    return std::ranges::none_of(
        limits, [](const Limit& limit) { return limit.most && limit.asked > *limit.most; });
}

bool has_features(const Job& job, const SiteQueue& queue) {
    const auto& features = queue.features;
    const auto& wanted = job.resources.constraint;
    return features.empty() || std::ranges::all_of(wanted, [&features](const std::string& feature) {
               return contains(features, feature);
           });
}

bool has_gpu_type(const Job& job, const SiteQueue& queue) {
    const std::string& wanted = job.resources.gpu_type;
    return gpus_of_node(job.resources) == 0 || wanted.empty() || queue.gpu_type.empty() ||
           wanted == queue.gpu_type;
}

/// Where the queue has none of it: the site's first queue that the job fits in.
std::string remedy_elsewhere(std::string_view field,
                             const Resources& resources,
                             const std::vector<SiteQueue>& queues) {
    const auto found = std::ranges::find_if(
        queues, [&](const SiteQueue& queue) { return fits(resources, queue); });
    return found == queues.end() ? fmt::format("remove `{}`: no queue of the site has them", field)
                                 : fmt::format("write `queue: {}`", found->name);
}

/// The largest value of the field that fits.
std::string remedy(const Limit& limit,
                   std::uint64_t most,
                   const Resources& resources,
                   const std::vector<SiteQueue>& queues) {
    const std::string_view field = limit.field.substr(limit.field.rfind('.') + 1);
    if (most == 0) {
        return remedy_elsewhere(field, resources, queues);
    }
    if (field == "tasks-per-node") {
        return most < resources.tasks_per_node
                   ? fmt::format("write `tasks-per-node: {}`",
                                 std::max<std::uint64_t>(most / resources.cpus_per_task, 1))
                   : fmt::format("write `cpus-per-task: {}`", most / resources.tasks_per_node);
    }
    if (field == "memory-per-cpu") {
        constexpr std::uint64_t kMebibyte = 1024UL * 1024;
        const std::uint64_t cores =
            std::uint64_t{resources.tasks_per_node} * resources.cpus_per_task;
        return fmt::format("write `memory-per-cpu: {} MiB`",
                           std::max<std::uint64_t>(most / cores / kMebibyte, 1));
    }
    return fmt::format("write `{}: {}`, or less", field, limit.most_text);
}

/// Where each task asks for its own GPUs, those of a node must be shared out evenly.
void check_gpu_form(const Job& job,
                    const SiteQueue& queue,
                    const LaunchPlan& plan,
                    Faults& faults) {
    const Resources& resources = job.resources;
    const bool is_even =
        resources.gpus_per_node % resources.tasks_per_node == 0 &&
        resources.tasks == std::uint64_t{resources.nodes} * resources.tasks_per_node;
    if (plan.gpu_form != GpuForm::kPerTask || resources.gpus_per_node == 0 || is_even ||
        job.launch.asks_as_written()) {
        return;
    }
    faults.add(job.fault_at(
        "resources.gpus-per-node",
        problem("queue-gpus-per-task-uneven",
                fmt::format("{} GPUs per node cannot be shared by {} tasks per node",
                            resources.gpus_per_node,
                            resources.tasks_per_node)),
        fmt::format("queue '{}' requires GPUs to be requested per task, as the Site says "
                    "(`gpu-form`)",
                    queue.name),
        fmt::format("write `tasks-per-node: {}` and no `tasks`, or `form: gpus-per-node` here",
                    resources.gpus_per_node)));
}

/// Type and form of the GPUs, as the queue has them where the Job does not say it.
void plan_gpus(const Job& job, const SiteQueue& queue, LaunchPlan& plan, Faults& faults) {
    plan.gpu_form = job.resources.gpu_form.value_or(queue.gpu_form);
    check_gpu_form(job, queue, plan, faults);
    if (gpus_of_node(job.resources) == 0 || queue.gpu_type.empty()) {
        return;
    }
    const std::string& wanted = job.resources.gpu_type;
    plan.gpu_type = queue.gpu_type;
    if (!wanted.empty() && wanted != queue.gpu_type) {
        const std::string field = std::string(field_of_gpus(job.resources)) + ".type";
        faults.add(job.fault_at(
            field,
            problem(
                "queue-gpu-type-missing",
                fmt::format("queue '{}' has no GPUs of type '{}'", queue.name, printable(wanted))),
            fmt::format("its GPUs are of type {}, as the Site says", printable(queue.gpu_type)),
            fmt::format("write `type: {}`, or choose another queue", printable(queue.gpu_type))));
    }
}

void check_features(const Job& job, const SiteQueue& queue, Faults& faults) {
    if (queue.features.empty()) {
        return;
    }
    for (const auto& feature : job.resources.constraint) {
        if (!contains(queue.features, feature)) {
            faults.add(job.fault_at(
                "resources.constraint",
                problem("queue-feature-missing",
                        fmt::format(
                            "queue '{}' has no nodes with '{}'", queue.name, printable(feature))),
                fmt::format("its features are {}", fmt::join(queue.features, ", ")),
                fmt::format("remove `{}`, or choose another queue", printable(feature))));
        }
    }
}

/// How far the job is from the queue: what it has none of counts more than what it has too little
/// of.
std::size_t distance(const Job& job, const SiteQueue& queue) {
    constexpr std::size_t kHasNone = 100;
    std::size_t count = (has_gpu_type(job, queue) ? 0U : 1U) + (has_features(job, queue) ? 0U : 1U);
    for (const Limit& limit : limits_of(job.resources, queue)) {
        if (limit.most && limit.asked > *limit.most) {
            count += *limit.most == 0 ? kHasNone : 1U;
        }
    }
    return count;
}

} // namespace

const SiteQueue* queue_of(const Job& job, const Site* site) {
    if (site == nullptr || site->queues.empty()) {
        return nullptr;
    }
    auto queues = candidates(job, *site);
    if (contains(queues, nullptr)) {
        return nullptr;
    }
    // A job without GPUs does not take a node with GPUs, where the first queue has none.
    if (gpus_of_node(job.resources) == 0 && queues.front()->gpus_per_node == 0) {
        std::erase_if(queues, [](const SiteQueue* queue) { return queue->gpus_per_node > 0; });
    }
    const auto found = std::ranges::find_if(queues, [&](const SiteQueue* queue) {
        return fits(job.resources, *queue) && has_gpu_type(job, *queue) &&
               has_features(job, *queue);
    });
    const auto is_nearer = [&job](const SiteQueue* one, const SiteQueue* other) {
        return distance(job, *one) < distance(job, *other);
    };
    return found != queues.end() ? *found
                                 : *std::min_element(queues.begin(), queues.end(), is_nearer);
}

Fault fault_at_default(const Job& job,
                       const Site* site,
                       std::string_view field,
                       Problem problem,
                       std::string because,
                       std::string help) {
    if (site == nullptr || job.says(field)) {
        return job.fault_at(field, std::move(problem), std::move(because), std::move(help));
    }
    const SiteQueue* queue = queue_of(job, site);
    const bool is_of_queue =
        queue != nullptr && !(field == "qos" ? queue->qos : queue->account).empty();
    return document::fault_at(
        site->source,
        document::mark_of(site->marks,
                          is_of_queue
                              ? fmt::format("queues[{}].{}", queue - site->queues.data(), field)
                              : std::string(field)),
        std::move(problem),
        std::move(because),
        std::move(help));
}

Fault fault_at_queue(
    const Job& job, const Site* site, Problem problem, std::string because, std::string help) {
    const SiteQueue* queue = job.queue.empty() ? queue_of(job, site) : nullptr;
    if (queue == nullptr) {
        return job.fault_at("queue", std::move(problem), std::move(because), std::move(help));
    }
    return document::fault_at(
        site->source,
        document::mark_of(site->marks, fmt::format("queues[{}].name", queue - site->queues.data())),
        std::move(problem),
        std::move(because),
        std::move(help));
}

namespace {

/// Who pays, and the quality of service: of the Job, else of the queue, else of the Site.
void plan_account(const PlanInput& input, const SiteQueue* queue, LaunchPlan& plan) {
    const auto chosen =
        [&](const std::string& own, std::string SiteQueue::*of_queue, std::string Site::*of_site) {
            return !own.empty()                                      ? own
                   : queue != nullptr && !(queue->*of_queue).empty() ? queue->*of_queue
                                                                     : input.site->*of_site;
        };
    if (input.site == nullptr || !input.place.has_queues) {
        return;
    }
    plan.account = chosen(plan.account, &SiteQueue::account, &Site::account);
    if (input.place.dialect == "slurm") {
        plan.qos = chosen(plan.qos, &SiteQueue::qos, &Site::qos);
    }
}

} // namespace

void check_limits(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    plan.queue = job.queue;
    plan.account = job.account;
    plan.qos = job.qos;
    plan_account(input, input.place.has_queues ? queue_of(job, input.site) : nullptr, plan);
    plan.gpu_type = job.resources.gpu_type;
    plan.gpu_form = job.resources.gpu_form.value_or(GpuForm::kPerNode);
    if (input.site == nullptr || input.site->queues.empty() || !input.place.has_queues) {
        return;
    }
    const SiteQueue* queue = queue_of(job, input.site);
    if (queue == nullptr) {
        refuse_queues(job, *input.site, faults);
        return;
    }
    plan.queue = job.queue.empty() ? queue->name : job.queue;
    plan.gpu_vendor = queue->gpu_vendor;
    plan_gpus(job, *queue, plan, faults);
    if (!plan.time) {
        plan.time = queue->time;
    }
    for (const Limit& limit : limits_of(job.resources, *queue)) {
        if (limit.most && limit.asked > *limit.most) {
            faults.add(
                job.fault_at(limit.field,
                             problem("queue-limit-exceeded",
                                     fmt::format("{} {} are requested, but queue '{}' has {}",
                                                 limit.asked_text,
                                                 limit.noun,
                                                 queue->name,
                                                 limit.most_text)),
                             fmt::format("it is set by site '{}'", input.site->name),
                             remedy(limit, *limit.most, job.resources, input.site->queues)));
        }
    }
    check_features(job, *queue, faults);
}

} // namespace cybele::launchers
