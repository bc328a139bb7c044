// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/usage.hpp"

#include "submission/journal/array.hpp"
#include "support/json.hpp"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

constexpr double kMillisecondsPerSecond = 1000.0;

std::optional<std::uint64_t> number_at(const nlohmann::json& map, const char* name) {
    const auto found = map.find(name);
    return found != map.end() && found->is_number_unsigned()
               ? std::optional(found->get<std::uint64_t>())
               : std::nullopt;
}

/// The records of a job, or of an element of an array, whose folder lies in the job's.
std::vector<Reading> readings_of(const Entry& entry) {
    constexpr std::uint64_t kMost = 65536;
    const std::filesystem::path record(entry.record);
    std::vector<Reading> readings{
        {(entry.is_element ? record.parent_path() : record) / "job.json", 0, kMost}};
    if (entry.array.empty() || entry.is_element) {
        readings.push_back({record / "exit.json", 0, kMost});
    }
    return readings;
}

} // namespace

std::optional<double> Usage::core_efficiency() const {
    if (!cpu_milliseconds || seconds <= 0 || cores <= 0) {
        return std::nullopt;
    }
    return static_cast<double>(*cpu_milliseconds) / kMillisecondsPerSecond /
           static_cast<double>(seconds * cores);
}

std::optional<double> Usage::memory_efficiency() const {
    const auto asked = memory_asked_bytes.value_or(0);
    if (!memory_bytes || asked == 0) {
        return std::nullopt;
    }
    return static_cast<double>(*memory_bytes) / static_cast<double>(asked);
}

AskedResources read_asked(std::string_view job_json) {
    const nlohmann::json document = parse_json(job_json);
    AskedResources asked;
    if (!document.is_object() || !document.contains("resources") ||
        !document["resources"].is_object()) {
        return asked;
    }
    const nlohmann::json& resources = document["resources"];
    const std::uint64_t nodes = number_at(resources, "nodes").value_or(1);
    if (const auto of_node = number_at(resources, "memory-per-node")) {
        asked.memory_bytes = *of_node * nodes;
    } else if (const auto of_core = number_at(resources, "memory-per-cpu")) {
        asked.memory_bytes = *of_core * number_at(resources, "tasks").value_or(1) *
                             number_at(resources, "cpus-per-task").value_or(1);
    }
    asked.gpus =
        static_cast<std::int64_t>(number_at(resources, "gpus-per-node").value_or(0) * nodes);
    return asked;
}

Usage usage_of(const Entry& entry,
               const AskedResources& asked,
               const std::optional<AccountedUse>& spent,
               const std::optional<ExitRecord>& record) {
    Usage usage;
    usage.cores = entry.cpus;
    usage.memory_asked_bytes = asked.memory_bytes;
    if (entry.started != 0 && entry.ended != 0) {
        usage.seconds = std::max<std::int64_t>(entry.ended - entry.started, 0);
    }
    if (record) {
        usage.seconds = std::max<std::int64_t>(record->end - record->start, 0);
        usage.cpu_milliseconds = record->cpu_milliseconds;
        usage.memory_bytes = record->memory_bytes;
        usage.source = usage.cpu_milliseconds || usage.memory_bytes ? "record" : "";
    }
    if (spent) {
        usage.source = "accounting";
        usage.seconds = spent->seconds;
        usage.cores = spent->cores > 0 ? spent->cores : usage.cores;
        usage.memory_asked_bytes =
            spent->memory_asked_bytes ? spent->memory_asked_bytes : usage.memory_asked_bytes;
        usage.cpu_milliseconds =
            spent->cpu_milliseconds ? spent->cpu_milliseconds : usage.cpu_milliseconds;
        usage.memory_bytes = spent->memory_bytes ? spent->memory_bytes : usage.memory_bytes;
    }
    return usage;
}

Result<Consumption> consumption_of(JobContext& context, const Entry& entry) {
    Consumption consumption;
    if (entry.id.empty()) {
        return consumption;
    }
    CYBELE_TRY(Backend * backend, context.backend(entry));
    std::optional<ExitRecord> record;
    if (const auto pieces = backend->read(readings_of(entry)); pieces && !pieces->empty()) {
        consumption.asked = read_asked(pieces->front().bytes);
        if (pieces->size() > 1 && pieces->back().exists) {
            auto read = parse_exit_record(pieces->back().bytes, entry.record);
            record =
                read && read->uuid == entry.uuid ? std::optional(std::move(*read)) : std::nullopt;
        }
    }
    if (entry.ended == 0 || entry.started == 0) {
        return consumption;
    }
    std::optional<AccountedUse> spent;
    if (const auto told = backend->spent({ref_of(entry)}); told) {
        const auto found = std::ranges::find(*told, entry.id, &AccountedUse::id);
        spent = found == told->end() ? std::nullopt : std::optional(*found);
    }
    consumption.used = usage_of(entry, consumption.asked, spent, record);
    return consumption;
}

} // namespace cybele::submission
