// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/asked_parts.hpp"

#include <algorithm>

namespace cybele::schedulers {
namespace {

struct Part {
    std::string_view key;
    std::string_view value; ///< empty: none
};

std::vector<Part> parts_of(std::string_view text) {
    std::vector<Part> parts;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(':'));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        const auto equals = word.find('=');
        parts.push_back(
            {word.substr(0, equals),
             equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1)});
    }
    return parts;
}

/// Slots of a node divided into tasks: without a word on tasks a slot is one.
void put_slots(AskedReading& reading, std::uint64_t slots, std::uint64_t tasks) {
    reading.asked.tasks_per_node = tasks;
    reading.asked.cpus_per_task = tasks == 0 ? 1 : std::max<std::uint64_t>(1, slots / tasks);
    reading.asked.lines["resources.tasks-per-node"] =
        reading.script.line_of("-l nodes") + reading.script.line_of("-l select");
}

bool is_mixed(AskedReading& reading, const Directive& directive) {
    if (directive.value.find('+') == std::string::npos) {
        return false;
    }
    reading.leave(directive, "a Job's nodes are all alike", "write a Job for each kind of node");
    return true;
}

bool put_count(AskedReading& reading, const Directive& directive, std::string_view text) {
    const auto nodes = whole_number(text);
    if (!nodes || *nodes == 0) {
        reading.leave(directive, "a Job names no hosts", "write how many nodes");
        return false;
    }
    reading.asked.nodes = *nodes;
    return true;
}

} // namespace

void take_node_list(AskedReading& reading, const Directive& directive) {
    if (is_mixed(reading, directive)) {
        return;
    }
    const auto parts = parts_of(directive.value);
    if (parts.empty() || !put_count(reading, directive, parts.front().key)) {
        return;
    }
    std::uint64_t slots = 1;
    for (std::size_t index = 1; index < parts.size(); ++index) {
        const auto& [key, value] = parts[index];
        const auto count = whole_number(value);
        if (key == "ppn" && count) {
            slots = *count;
        } else if (key == "gpus" && count) {
            reading.asked.gpus_per_node = *count;
            reading.asked.lines["resources.gpus-per-node"] = directive.line;
        } else if (value.empty()) {
            reading.asked.constraint.emplace_back(key);
            reading.asked.lines["resources.constraint"] = directive.line;
        } else {
            reading.leave(
                directive, "a Job has no field for '" + std::string(key) + "'", "drop it");
        }
    }
    put_slots(reading, slots, slots);
}

void take_select(AskedReading& reading, const Directive& directive) {
    if (is_mixed(reading, directive)) {
        return;
    }
    const auto parts = parts_of(directive.value);
    if (parts.empty() || !put_count(reading, directive, parts.front().key)) {
        return;
    }
    std::uint64_t cpus = 1;
    std::uint64_t processes = 0;
    for (std::size_t index = 1; index < parts.size(); ++index) {
        const auto& [key, value] = parts[index];
        const auto count = whole_number(value);
        if (key == "ncpus" && count) {
            cpus = *count;
            reading.asked.lines["resources.cpus-per-task"] = directive.line;
        } else if (key == "mpiprocs" && count) {
            processes = *count;
        } else if (key == "ngpus" && count) {
            reading.asked.gpus_per_node = *count;
            reading.asked.lines["resources.gpus-per-node"] = directive.line;
        } else if (key == "mem") {
            reading.asked.memory_per_node = pbs_memory(value);
            reading.asked.lines["resources.memory-per-node"] = directive.line;
        } else if (key != "ompthreads") {
            reading.leave(
                directive, "a Job has no field for '" + std::string(key) + "'", "drop it");
        }
    }
    put_slots(reading, cpus, processes == 0 ? 1 : processes);
}

void take_place(AskedReading& reading, const Directive& directive) {
    for (const auto& [key, value] : parts_of(directive.value)) {
        if (key == "excl" || key == "exclhost") {
            reading.asked.exclusive = true;
        } else if (key == "group" || key == "pack" || !value.empty()) {
            reading.leave(directive, "a Job's nodes are scattered", "drop it");
        }
    }
}

} // namespace cybele::schedulers
