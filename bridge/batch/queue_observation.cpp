// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/queue_observation.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace cybele::bridge {
namespace {

bool is_of_slurm(const std::string& dialect) {
    return dialect == "slurm" || dialect == "slurm-torque";
}

/// The number that a text begins with.
std::optional<std::uint64_t> leading_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

LiveQueue& queue_named(std::vector<LiveQueue>& queues, std::string_view name) {
    const auto known = std::ranges::find(queues, name, &LiveQueue::name);
    if (known != queues.end()) {
        return *known;
    }
    queues.emplace_back();
    queues.back().name = name;
    return queues.back();
}

/// A line for each kind of node: `NAME|up|NODES|CORES|MEBIBYTES`.
std::vector<LiveQueue> read_sinfo(std::string_view text) {
    constexpr std::uint64_t kMebibyteOfQueue = std::uint64_t{1} << 20U;
    std::vector<LiveQueue> queues;
    for (const std::string_view line : text::split(text, '\n')) {
        const auto fields = text::split(text::trimmed(line), '|');
        if (fields.size() != 5) {
            continue;
        }
        LiveQueue& queue = queue_named(queues, fields[0]);
        queue.is_open = fields[1] == "up";
        const std::uint64_t nodes = leading_number(fields[2]).value_or(0);
        const std::uint64_t cores = leading_number(fields[3]).value_or(0);
        const std::uint64_t mebibytes = leading_number(fields[4]).value_or(0);
        queue.nodes = queue.nodes.value_or(0) + nodes;
        queue.cores = queue.cores.value_or(0) + nodes * cores;
        queue.memory = queue.memory.value_or(0) + nodes * mebibytes * kMebibyteOfQueue;
    }
    return queues;
}

/// `Queue: NAME`, then indented `attribute = value`.
std::vector<LiveQueue> read_queue_attributes(std::string_view text) {
    constexpr std::string_view kHeadOfQueue = "Queue:";
    constexpr std::string_view kIs = " = ";
    std::vector<LiveQueue> queues;
    for (const std::string_view line : text::split(text, '\n')) {
        if (line.starts_with(kHeadOfQueue)) {
            (void)queue_named(queues, text::trimmed(line.substr(kHeadOfQueue.size())));
            continue;
        }
        const std::size_t at = line.find(kIs);
        if (queues.empty() || at == std::string_view::npos) {
            continue;
        }
        LiveQueue& queue = queues.back();
        const std::string_view name = text::trimmed(line.substr(0, at));
        const std::string_view value = text::trimmed(line.substr(at + kIs.size()));
        if (name == "enabled" || name == "started") {
            queue.is_open = queue.is_open && value == "True";
        } else if (name == "resources_max.nodect" || name == "resources_max.nodes") {
            queue.nodes = leading_number(value);
        } else if (name == "resources_max.procct" || name == "resources_max.ncpus") {
            queue.cores = leading_number(value);
        }
    }
    return queues;
}

} // namespace

submission::Call queues_call(const std::string& dialect) {
    submission::Call call;
    if (is_of_slurm(dialect)) {
        call.argv = {"sinfo", "-h", "-e", "-o", "%R|%a|%D|%c|%m"};
    } else {
        call.argv = {"qstat", "-Q", "-f"};
    }
    call.unset = {"SINFO_FORMAT", "SINFO_PARTITION", "SLURM_CLUSTERS"};
    call.limit = std::chrono::seconds(30);
    return call;
}

std::vector<LiveQueue> read_live_queues(const std::string& dialect, std::string_view text) {
    return is_of_slurm(dialect) ? read_sinfo(text) : read_queue_attributes(text);
}

} // namespace cybele::bridge
