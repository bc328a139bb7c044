// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/plan_parts.hpp"
#include "support/counted.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
/// What a Java process takes beside its heap, at least.
constexpr std::uint64_t kOverheadMib = 384;
/// Spark refuses executors with less (1.5 times its reserved 300 MiB).
constexpr std::uint64_t kLeastExecutorMib = 450;
constexpr std::uint64_t kMostNodeMib = std::uint64_t{1} << 42U; // more cannot be written as a size

/// Properties that the launch itself sets, and how a Job says what it means by them.
struct OwnProperty {
    std::string_view name; ///< with everything below it
    std::string_view because;
    std::string_view help;
};
constexpr std::array<OwnProperty, 12> kOwn{{
    {"spark.authenticate", "the daemons of this job know one secret of its own", "drop it"},
    {"spark.network.crypto.enabled", "it goes with the job's own secret", "drop it"},
    {"spark.master", "the job starts its own master", "drop it"},
    {"spark.submit.deployMode", "the driver is the job's program", "drop it"},
    {"spark.driver.host", "the driver is on the job's first node", "drop it"},
    {"spark.driver.bindAddress", "the driver is on the job's first node", "drop it"},
    {"spark.driver.memory", "it is a field of its own", "write `driver-memory` under `launch`"},
    {"spark.executor.memory", "it follows from what is allotted", "write `worker-memory`"},
    {"spark.executor.cores", "it is a field of its own", "write `executor-cores`"},
    {"spark.local.dir", "each node has a folder that goes with the job", "drop it"},
    {"spark.ui.enabled", "whoever is on the node could use it", "read the event log"},
    {"spark.eventLog", "the event log is among the job's results", "drop it"},
}};

const OwnProperty* own_property(std::string_view name) {
    for (const OwnProperty& own : kOwn) {
        const bool is_below = name.size() > own.name.size() && name.starts_with(own.name) &&
                              name[own.name.size()] == '.';
        if (name == own.name || is_below) {
            return &own;
        }
    }
    return nullptr;
}

void plan_properties(const Job& job, SparkPlan& spark, Faults& faults) {
    for (const auto& [name, value] : job.launch.properties) {
        const std::string field = "launch.properties." + name;
        const bool is_name =
            name.starts_with("spark.") && name.find_first_of(" \t=:#\\") == std::string::npos;
        if (!is_name) {
            faults.add(job.fault_at(
                field,
                problem("spark-property-malformed",
                        fmt::format("'{}' is not a property of Spark", printable(name))),
                "their names begin with `spark.` and have no blanks",
                "fix the name"));
        } else if (const OwnProperty* own = own_property(name); own != nullptr) {
            faults.add(
                job.fault_at(field,
                             problem("spark-property-reserved",
                                     fmt::format("`{}` is set by the launch", printable(name))),
                             std::string(own->because),
                             std::string(own->help)));
        }
        spark.properties.emplace_back(name, value);
    }
}

std::uint64_t with_overhead(std::uint64_t heap) {
    return heap + std::max(kOverheadMib, heap / 10);
}

/// What is not an executor's: master, worker's own process and driver, as on the first node, so
/// that all workers are alike.
std::uint64_t daemons_and_driver(const SparkPlan& spark) {
    return 2 * spark.daemon_mib + with_overhead(spark.driver_mib);
}

/// The field that gives a node so many MiB.
std::string memory_field(const launchers::Resources& resources, std::uint64_t mib) {
    if (!resources.memory_per_cpu_bytes) {
        return fmt::format("`memory-per-node: {} MiB`", mib);
    }
    const std::uint64_t cores = std::max<std::uint64_t>(
        1, std::uint64_t{resources.tasks_per_node} * resources.cpus_per_task);
    return fmt::format("`memory-per-cpu: {} MiB`", (mib + cores - 1) / cores);
}

/// What gives each executor enough: of the workers where the Job sizes them and they fit, else of
/// the driver where the Job made it larger, else of the node. `allotted`: MiB of a node.
std::string executor_remedy(const Job& job,
                            const SparkPlan& spark,
                            std::uint64_t executors,
                            std::optional<std::uint64_t> allotted) {
    const std::uint64_t workers = (kLeastExecutorMib + kOverheadMib) * executors;
    const std::uint64_t needed = workers + daemons_and_driver(spark);
    const auto of_node = [&job](std::uint64_t mib) {
        return memory_field(job.resources, (mib - 1) * 10 / 9 + 1); // a tenth is left free
    };
    const std::string node = of_node(needed);
    if (job.launch.worker_memory_bytes) {
        return !allotted || needed <= *allotted
                   ? fmt::format("write `worker-memory: {} MiB` or more", workers)
                   : "remove `worker-memory` and write " + node + " or more";
    }
    SparkPlan usual = spark;
    usual.driver_mib = launchers::Launch{}.driver_memory_bytes / kMib;
    const std::uint64_t memory = allotted.value_or(0);
    const std::uint64_t usable = memory - memory / 10;
    const std::uint64_t needed_usually = workers + daemons_and_driver(usual);
    if (usual.driver_mib < spark.driver_mib && needed_usually <= usable) {
        return "remove `driver-memory`";
    }
    return needed < kMostNodeMib
               ? "write " + node + " or more"
               : "remove `driver-memory` and write " + of_node(needed_usually) + " or more";
}

void plan_memory(const PlanInput& input, SparkPlan& spark, Faults& faults) {
    const Job& job = *input.job;
    auto allotted = memory_of_node(job.resources);
    if (allotted) {
        *allotted /= kMib;
    }
    const std::uint64_t reserved = daemons_and_driver(spark);
    const std::uint64_t usable = allotted ? *allotted - *allotted / 10 : 0; // a tenth is left free
    if (job.launch.worker_memory_bytes) {
        spark.worker_mib = *job.launch.worker_memory_bytes / kMib;
        if (allotted && spark.worker_mib + reserved > *allotted) {
            faults.add(job.fault_at("launch.worker-memory",
                                    problem("spark-worker-memory",
                                            fmt::format("workers of {} do not fit in {} a node",
                                                        format_size(spark.worker_mib * kMib),
                                                        format_size(*allotted * kMib))),
                                    fmt::format("daemons and driver use {} MiB of it", reserved),
                                    "drop `worker-memory`, or raise `memory-per-node`"));
        }
    } else if (!allotted) {
        faults.add(job.fault_at(
            "launch.kind",
            problem("spark-memory-unknown", "how much memory Spark's workers have is not known"),
            "it is set when they start, and they may not use more than was allocated",
            "write `memory-per-node: 8 GiB` under `resources`"));
        return;
    } else {
        spark.worker_mib = usable > reserved ? usable - reserved : 0;
    }
    const std::uint64_t executors =
        spark.executor_cores == 0 ? 1 : std::max(1U, spark.worker_cores / spark.executor_cores);
    const std::uint64_t share = spark.worker_mib / executors;
    const std::uint64_t overhead = std::max(kOverheadMib, share / 11);
    spark.executor_mib = share > overhead ? share - overhead : 0;
    if (spark.executor_mib < kLeastExecutorMib) {
        faults.add(job.fault_at(
            job.launch.worker_memory_bytes       ? "launch.worker-memory"
            : job.resources.memory_per_cpu_bytes ? "resources.memory-per-cpu"
                                                 : "resources.memory-per-node",
            problem(
                "spark-executor-memory",
                fmt::format("{} MiB are left for each of Spark's executors", spark.executor_mib)),
            fmt::format("Spark requires {} MiB, in addition to {} MiB for daemons and driver and "
                        "{} MiB of overhead per executor",
                        kLeastExecutorMib,
                        reserved,
                        overhead),
            executor_remedy(job, spark, executors, allotted)));
    }
}

void plan_cores(const PlanInput& input, const LaunchPlan& plan, SparkPlan& spark, Faults& faults) {
    const Job& job = *input.job;
    const std::uint32_t cores = plan.cpus_per_task;
    spark.worker_cores = job.launch.worker_cores.value_or(cores);
    // Master and driver want a core of their own where there is more than one.
    spark.first_worker_cores =
        job.launch.worker_cores ? spark.worker_cores : std::max(1U, cores - 1);
    spark.executor_cores = job.launch.executor_cores.value_or(0);
    if (spark.worker_cores > cores) {
        faults.add(job.fault_at("launch.worker-cores",
                                problem("spark-worker-cores",
                                        fmt::format("workers of {} do not fit on {} per node",
                                                    counted(spark.worker_cores, "core"),
                                                    counted(cores, "CPU"))),
                                "more tasks than cores slow every one of them down",
                                fmt::format("write `cpus-per-task: {}`", spark.worker_cores)));
    }
    if (spark.executor_cores > spark.first_worker_cores) {
        faults.add(job.fault_at(
            "launch.executor-cores",
            problem("spark-executor-cores",
                    fmt::format("executors of {} do not fit in a worker of {}",
                                counted(spark.executor_cores, "core"),
                                spark.first_worker_cores)),
            "none would ever start there",
            fmt::format("write `executor-cores: {}` or less", spark.first_worker_cores)));
    }
}

} // namespace

void plan_spark(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    SparkPlan spark;
    spark.driver_mib = job.launch.driver_memory_bytes / kMib;
    spark.ready_within = job.launch.ready_within;
    plan_cores(input, plan, spark, faults);
    plan_memory(input, spark, faults);
    plan_properties(job, spark, faults);
    if (job.command.empty()) {
        faults.add(job.fault_at(
            job.script.empty() ? "launch.kind" : "script",
            problem("spark-without-application", "launch `spark` without an application"),
            "spark-submit needs a program to run",
            "add `command: [application.py, …]`"));
    }
    plan.spark = std::move(spark);
}

} // namespace cybele::launchers
