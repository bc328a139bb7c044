// SPDX-License-Identifier: Apache-2.0
#include "schedulers/scripts/values.hpp"
#include "support/characters.hpp"
#include "support/counted.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::schedulers {
namespace {

using launchers::Job;
using templates::Value;
using templates::Values;

Value count_or_none(std::uint32_t count) {
    return count > 0 ? Value(count) : Value();
}

/// `a:2,b:1`
std::string counts_text(const std::map<std::string, std::uint32_t>& counts) {
    std::string text;
    for (const auto& [name, count] : counts) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, count);
    }
    return text;
}

/// `--gres`: resources of each node, with its GPUs where they are asked for so.
void add_gres(const Rendering& rendering, Values& values) {
    const auto& resources = rendering.input.job->resources;
    const bool has_gpus =
        rendering.plan.gpu_form == launchers::GpuForm::kGres && resources.gpus_per_node > 0;
    values["gpus-as-gres"] = has_gpus;
    values["has-gres"] = has_gpus || !resources.gres.empty();
    values["gres-plus"] = resources.gres.empty() ? "" : ",";
    values["gres"] = counts_text(resources.gres);
}

/// What PBS asks for: so many nodes, or each by its name.
Value places_value(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    const auto& hosts = job.resources.hosts;
    const std::string before = rendering.dialect.name == "pbspro" ? "1:host=" : "";
    std::vector<Values> places;
    places.reserve(hosts.size() + 1);
    for (const std::string& host : hosts) {
        places.push_back({{"plus", Value(places.empty() ? "" : "+")}, {"what", before + host}});
    }
    if (places.empty()) {
        places.push_back({{"plus", Value("")}, {"what", Value(rendering.plan.nodes)}});
    }
    return {std::move(places)};
}

/// How many nodes an item of `hosts` names: `n7` one, `n[01-03,9]` four.
std::size_t hosts_in(const std::string& item) {
    const auto begin = item.find('[');
    const auto end = item.find(']', begin == std::string::npos ? 0 : begin);
    if (begin == std::string::npos || end == std::string::npos) {
        return 1;
    }
    std::size_t count = 0;
    for (const std::string_view piece :
         text::split(std::string_view(item).substr(begin + 1, end - begin - 1), ',')) {
        const auto dash = std::min(piece.find('-'), piece.size());
        const auto first = text::number(piece.substr(0, dash));
        const auto last = text::number(piece.substr(std::min(dash + 1, piece.size())));
        const bool is_range = first && last && *last >= *first;
        count += is_range ? static_cast<std::size_t>(*last - *first) + 1 : 1;
    }
    return count;
}

/// A script that names no number of nodes gets at most as many as its tasks, whatever it lists.
void note_unused_hosts(const Rendering& rendering, std::size_t count) {
    const Job& job = *rendering.input.job;
    const std::uint32_t tasks = job.resources.tasks;
    if (!job.says("resources.tasks") || tasks >= count) {
        return;
    }
    Fault note = job.fault_at(
        "resources.hosts",
        problem("hosts-unused",
                fmt::format(
                    "`hosts` names more nodes than the job has tasks: {} and {}", count, tasks)),
        "Slurm gives it at most as many nodes as tasks, the first of those that are named",
        fmt::format("name at most {} of them, or ask for more tasks", tasks));
    note.is_warning = true;
    rendering.faults.add(std::move(note));
}

/// From this version on `--nodelist` may name more nodes than `--nodes` asks for.
constexpr std::string_view kMayNameMore = "23.02";

/// More nodes than the job has: whether sbatch accepts them depends on its version.
void check_listed_hosts(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    std::size_t count = 0;
    for (const std::string& item : job.resources.hosts) {
        count += hosts_in(item);
    }
    if (rendering.dialect.name != "slurm") {
        return;
    }
    if (job.launch.asks_as_written() && !job.says("resources.nodes")) {
        note_unused_hosts(rendering, count);
    } else if (count > rendering.plan.nodes) {
        const std::string& version = rendering.dialect.version;
        if (!version.empty() && !is_older(version, kMayNameMore)) {
            return;
        }
        rendering.faults.add(job.fault_at(
            "resources.hosts",
            problem("hosts-count",
                    fmt::format("`hosts` names {}, and the job has {}",
                                counted(count, "node"),
                                rendering.plan.nodes)),
            fmt::format("sbatch before Slurm {} rejects that", kMayNameMore),
            fmt::format("write `nodes: {}`, or `scheduler: {{dialect: slurm, version: {}}}` in a "
                        "Site of such a cluster",
                        count,
                        kMayNameMore)));
    }
}

/// PBS gives a job the nodes that are named, and no other.
void check_places(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    const auto& hosts = job.resources.hosts;
    if (hosts.empty() || rendering.dialect.needs.at("hosts").value != "places") {
        check_listed_hosts(rendering);
        return;
    }
    for (std::size_t index = 0; index < hosts.size(); ++index) {
        if (hosts[index].find_first_of("[],") != std::string::npos) {
            rendering.faults.add(job.fault_at(fmt::format("resources.hosts[{}]", index),
                                              problem("host-form",
                                                      fmt::format("'{}' cannot be expressed in {}",
                                                                  printable(hosts[index]),
                                                                  rendering.dialect.name)),
                                              "it accepts the name of one node at a time",
                                              "write one node per item"));
        }
    }
    if (hosts.size() != rendering.plan.nodes) {
        rendering.faults.add(
            job.fault_at("resources.hosts",
                         problem("hosts-count",
                                 fmt::format("`hosts` names {}, and the job has {}",
                                             counted(hosts.size(), "node"),
                                             rendering.plan.nodes)),
                         fmt::format("{} gives a job the nodes that it names, and no other",
                                     rendering.dialect.name),
                         fmt::format("write `nodes: {}`", hosts.size())));
    }
}

/// `2026-11-26T22:00` as sbatch reads it, and as qsub does: `202611262200.00`.
std::string begin_text(const Rendering& rendering) {
    std::string text = rendering.input.job->begin;
    if (text.empty()) {
        return text;
    }
    constexpr std::size_t kWithoutSeconds = 16;
    text += text.size() == kWithoutSeconds ? ":00" : "";
    if (rendering.dialect.name == "slurm") {
        return text;
    }
    std::string digits;
    std::copy_if(text.begin(), text.end(), std::back_inserter(digits), [](char letter) {
        return is_digit(letter);
    });
    return digits.insert(digits.size() - 2, ".");
}

/// An option that asks for a thing or against it; unset: neither.
Value flag_text(const std::optional<bool>& flag, const char* yes, const char* otherwise) {
    return flag ? Value(*flag ? yes : otherwise) : Value();
}

Value text_value(const std::string& text) {
    return text.empty() ? Value() : Value(text);
}

/// GPUs of each task, where the Site asks for those of a node so (`gpu-form: gpus-per-task`);
/// 0: it does not. A batch launch asks for what is written.
std::uint32_t gpus_of_task(const Rendering& rendering) {
    const auto& resources = rendering.input.job->resources;
    const bool is_meant = rendering.plan.gpu_form == launchers::GpuForm::kPerTask &&
                          resources.gpus_per_node > 0 && rendering.dialect.name == "slurm" &&
                          !rendering.input.job->launch.asks_as_written();
    return is_meant ? resources.gpus_per_node / resources.tasks_per_node : 0;
}

void add_gpu_options(const Rendering& rendering, Values& values) {
    const auto& resources = rendering.input.job->resources;
    const bool is_counted = rendering.dialect.needs.at("gpus-per-task").value == "gpus-per-node";
    const std::uint32_t of_node =
        is_counted ? launchers::gpus_of_node(resources) : resources.gpus_per_node;
    const std::uint32_t of_task = gpus_of_task(rendering);
    values["gpus-per-node"] = count_or_none(of_node);
    values["gpus-alone"] =
        of_node > 0 && of_task == 0 && rendering.plan.gpu_form != launchers::GpuForm::kGres;
    values["gpus"] = count_or_none(resources.gpus);
    values["gpus-shared"] = count_or_none(of_task); // those of a node, each task's part
    values["gpus-per-task"] = count_or_none(resources.gpus_per_task);
    values["cpus-per-gpu"] = count_or_none(resources.cpus_per_gpu.value_or(0));
    add_gres(rendering, values);
    values["gpu-type"] =
        optional_text(rendering, launchers::field_of_gpus(resources), rendering.plan.gpu_type);
}

} // namespace

void add_options(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    const auto& resources = job.resources;
    check_places(rendering);
    add_gpu_options(rendering, values);
    values["all-memory"] = resources.has_all_memory;
    values["hosts-listed"] = text_value(fmt::format("{}", fmt::join(resources.hosts, ",")));
    values["places"] = places_value(rendering);
    values["exclude"] = text_value(fmt::format("{}", fmt::join(resources.exclude, ",")));
    values["threads-per-core"] = count_or_none(resources.threads_per_core.value_or(0));
    values["licenses"] = text_value(counts_text(resources.licenses));
    values["reservation"] = optional_text(rendering, "reservation", job.reservation);
    values["begin"] = text_value(begin_text(rendering));
    values["comment"] = rendering.dialect.needs.at("comment").service == Service::kDirective
                            ? optional_text(rendering, "comment", job.comment)
                            : Value();
    values["requeue"] = flag_text(job.requeue, "requeue", "no-requeue");
    values["rerun"] = flag_text(job.requeue, "y", "n");
    values["open-mode"] = flag_text(job.append_output, "append", "truncate");
}

} // namespace cybele::schedulers
