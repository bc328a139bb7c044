// SPDX-License-Identifier: Apache-2.0
// What a Job asks for, in numbers.
#include "cell_values.hpp"
#include "read_back.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::pairs {
namespace {

using Json = nlohmann::ordered_json;

} // namespace

std::uint64_t number_at(const Json& document, const std::string& path, std::uint64_t otherwise) {
    const Json value = value_at(document, path);
    return value.is_number() ? value.get<std::uint64_t>() : otherwise;
}

std::string text_at(const Json& document, const std::string& path, std::string otherwise) {
    const Json value = value_at(document, path);
    return value.is_string() ? value.get<std::string>() : std::move(otherwise);
}

std::uint64_t kibibytes(const std::string& size) {
    std::uint64_t value = 0;
    std::string unit;
    std::istringstream(size) >> value >> unit;
    for (const char letter : std::string("KMGTP")) {
        if (unit.front() == letter) {
            return value;
        }
        value *= 1024;
    }
    FAIL("no size: " << size);
    return 0;
}

std::string clock_of(const std::string& duration) {
    if (duration.find(':') != std::string::npos) {
        return duration;
    }
    std::uint64_t value = 0;
    std::string unit;
    std::istringstream(duration) >> value >> unit;
    const std::uint64_t seconds = value * (unit == "h" ? 3600 : unit == "min" ? 60 : 1);
    return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit;
}

std::string joined(const Json& list, const char* between) {
    std::string text;
    for (const Json& item : list) {
        text += (text.empty() ? "" : between) + item.get<std::string>();
    }
    return text;
}

namespace {

/// A number, or the `count` of a map.
std::uint64_t count_at(const Json& document, const std::string& path) {
    const Json value = value_at(document, path);
    return value.is_object() ? value["count"].get<std::uint64_t>() : number_at(document, path, 0);
}

} // namespace

std::uint64_t gpus_of_node(const Cell& cell, const Asked& asked) {
    const std::uint64_t of_task = count_at(cell.job, "resources.gpus-per-task");
    const std::uint64_t of_job = count_at(cell.job, "resources.gpus");
    return of_task > 0  ? of_task * asked.tasks_per_node
           : of_job > 0 ? (asked.nodes == 1 ? of_job : 1)
                        : asked.gpus;
}

namespace {

std::string gpu_type_of(const Cell& cell) {
    for (const char* const field : {"gpus-per-task", "gpus", "gpus-per-node"}) {
        const Json gpus = value_at(cell.job, std::string("resources.") + field);
        if (gpus.is_object() && gpus.contains("type")) {
            return gpus["type"].get<std::string>();
        }
    }
    return {};
}

/// Whether the queue of a Site has what the Job asks for.
bool fits(const Cell& cell, const Asked& asked, const Json& queue) {
    const auto most = [&queue](const char* limit) {
        return queue.value(limit, std::numeric_limits<std::uint64_t>::max());
    };
    const std::uint64_t gpus = gpus_of_node(cell, asked);
    const std::string type = gpu_type_of(cell);
    const std::string memory = queue.value("memory-per-node", std::string());
    const std::string longest = queue.value("max-time", std::string());
    const std::string time = text_at(cell.job, "resources.time");
    const Json features = queue.value("features", Json::array());
    const Json wanted = value_at(cell.job, "resources.constraint");
    return asked.nodes <= most("nodes") &&
           asked.tasks_per_node * asked.cpus <= most("cores-per-node") &&
           gpus <= queue.value("gpus-per-node", std::uint64_t{0}) &&
           (memory.empty() || asked.memory_of_node * 1024 <= kibibytes(memory)) &&
           (time.empty() || longest.empty() || clock_of(time) <= clock_of(longest)) &&
           (gpus == 0 || type.empty() || queue.value("gpu-type", type) == type) &&
           (features.empty() || std::all_of(wanted.begin(), wanted.end(), [&](const Json& each) {
                return std::find(features.begin(), features.end(), each) != features.end();
            }));
}

/// The queue that a Job is for, with its default time: its own, else the Site's first that it fits
/// in, else the first.
void ask_queue(const Cell& cell, Asked& asked) {
    asked.queue = text_at(cell.job, "queue");
    const Json queues = cell.site.is_null() ? Json() : value_at(cell.site, "queues");
    const bool may_have_gpus = gpus_of_node(cell, asked) > 0 || queues.is_null() ||
                               queues.front().contains("gpus-per-node");
    const auto takes = [&](const Json& queue) {
        return (may_have_gpus || !queue.contains("gpus-per-node")) && fits(cell, asked, queue);
    };
    const bool is_open = asked.queue.empty() && std::any_of(queues.begin(), queues.end(), takes);
    for (const Json& queue : queues) {
        if (is_open ? takes(queue) : asked.queue.empty() || queue["name"] == asked.queue) {
            asked.queue = queue["name"].get<std::string>();
            if (asked.clock.empty() && queue.contains("time")) {
                asked.clock = clock_of(queue["time"].get<std::string>());
            }
            return;
        }
    }
}

std::uint64_t values_in(const Json& list) {
    if (list.is_array()) {
        return list.size();
    }
    const std::string text = list.get<std::string>(); // of two numbers
    const auto dash = text.find('-');
    return dash == std::string::npos
               ? 1
               : std::stoull(text.substr(dash + 1)) - std::stoull(text.substr(0, dash)) + 1;
}

/// Rows of a sweep whose `exclude` names one row each.
std::uint64_t rows_of(const Json& sweep) {
    std::uint64_t rows = 1;
    for (const char* const name : {"lr", "seed"}) {
        rows *= sweep.contains(name) ? values_in(sweep[name]) : 1;
    }
    return rows - (sweep.contains("exclude") ? sweep["exclude"].size() : 0);
}

/// Rows of an element that run at the same time; 0: a row is an element.
std::uint64_t row_slots(const Json& sweep) {
    if (!sweep.contains("pack")) {
        return 0;
    }
    const std::uint64_t pack =
        sweep["pack"].is_number() ? sweep["pack"].get<std::uint64_t>() : rows_of(sweep);
    return std::min(pack, sweep.value("at-once", pack));
}

} // namespace

Asked asked_by(const Cell& cell) {
    Asked asked;
    asked.nodes = number_at(cell.job, "resources.nodes", 1);
    asked.tasks_per_node = number_at(cell.job, "resources.tasks-per-node", 1);
    if (const Json sweep = value_at(cell.job, "sweep");
        row_slots(sweep.is_null() ? Json::object() : sweep) > 0) {
        asked.tasks_per_node = row_slots(sweep);
    }
    asked.tasks = number_at(cell.job, "resources.tasks", asked.nodes * asked.tasks_per_node);
    if (const Json sweep = value_at(cell.job, "sweep"); !sweep.is_null() && row_slots(sweep) > 0) {
        asked.tasks = row_slots(sweep); // a task per row that runs at the same time
    }
    asked.cpus = number_at(cell.job, "resources.cpus-per-task", 1);
    const std::string of_node = text_at(cell.job, "resources.memory-per-node");
    const std::string of_cpu = text_at(cell.job, "resources.memory-per-cpu");
    asked.is_memory_of_cpu = !of_cpu.empty();
    if (!of_cpu.empty()) {
        asked.memory_of_cpu = rounded_up(kibibytes(of_cpu), 1024);
        asked.memory_of_node =
            rounded_up(kibibytes(of_cpu) * asked.tasks_per_node * asked.cpus, 1024);
    } else if (!of_node.empty()) {
        asked.memory_of_node = rounded_up(kibibytes(of_node), 1024);
    }
    const Json gpus = value_at(cell.job, "resources.gpus-per-node");
    asked.gpus = gpus.is_object() ? gpus["count"].get<std::uint64_t>()
                                  : number_at(cell.job, "resources.gpus-per-node", 0);
    asked.gpu_type = gpus.is_object() ? gpus.value("type", std::string()) : "";
    const Json of_task = value_at(cell.job, "resources.gpus-per-task");
    if (cell.dialect != "slurm" && !of_task.is_null()) {
        asked.gpus = of_task.get<std::uint64_t>() * asked.tasks_per_node;
    }
    const std::string time = text_at(cell.job, "resources.time");
    asked.clock = time.empty() ? "" : clock_of(time);
    ask_queue(cell, asked);
    return asked;
}

Json queue_of(const Cell& cell) {
    const std::string name = asked_by(cell).queue;
    const Json queues = cell.site.is_null() ? Json() : value_at(cell.site, "queues");
    for (const Json& queue : queues) {
        if (queue["name"] == name) {
            return queue;
        }
    }
    return {};
}

std::string array_of(const Cell& cell) {
    const Json sweep = value_at(cell.job, "sweep");
    if (sweep.is_null()) {
        return text_at(cell.job, "array");
    }
    const std::uint64_t rows = rows_of(sweep);
    if (!sweep.contains("pack")) {
        return fmt::format("0-{}", rows - 1) +
               (sweep.contains("at-once") ? fmt::format("%{}", sweep["at-once"].dump()) : "");
    }
    return sweep["pack"] == "all"
               ? ""
               : fmt::format("0-{}", (rows - 1) / sweep["pack"].get<std::uint64_t>());
}

} // namespace cybele::pairs
