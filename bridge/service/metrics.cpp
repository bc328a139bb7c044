// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/metrics.hpp"

#include "support/file.hpp"
#include "support/find.hpp"

#include <iterator>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

struct MetricRow {
    std::string_view name;
    std::string_view type;
    std::string_view help;
    std::string (*value)(const Metrics&);
};

constexpr MetricRow kMetrics[] = {
    {"jobs_without_object",
     "gauge",
     "Jobs of this bridge whose object does not exist.",
     [](const Metrics& all) { return fmt::to_string(all.jobs_without_object); }},
    {"failing_accounts",
     "gauge",
     "Accounts as which commands fail.",
     [](const Metrics& all) { return fmt::to_string(all.failing_accounts); }},
    {"queue_answered",
     "gauge",
     "1 if the last query of the queue was answered.",
     [](const Metrics& all) { return fmt::to_string(all.is_queue_answered ? 1 : 0); }},
    {"queue_queries_total",
     "counter",
     "Queries of the queue.",
     [](const Metrics& all) { return fmt::to_string(all.queries); }},
    {"queue_answer_seconds",
     "gauge",
     "Seconds until the last query of the queue was answered.",
     [](const Metrics& all) { return fmt::to_string(all.answer_seconds); }},
    {"rewound",
     "gauge",
     "1 while jobs are compared with an API server that was restored.",
     [](const Metrics& all) { return fmt::to_string(all.is_rewound ? 1 : 0); }},
    {"rewinds_total",
     "counter",
     "How often the API server was found restored to an earlier state.",
     [](const Metrics& all) { return fmt::to_string(all.rewinds); }},
    {"events_written_total",
     "counter",
     "Events that were written.",
     [](const Metrics& all) { return fmt::to_string(all.events_written); }},
    {"events_dropped_total",
     "counter",
     "Events that could not be written.",
     [](const Metrics& all) { return fmt::to_string(all.events_dropped); }},
    {"last_round_timestamp_seconds",
     "gauge",
     "Unix time of the last round over all objects.",
     [](const Metrics& all) { return fmt::to_string(all.last_round); }},
};

constexpr std::string_view kMetricPrefix = "cybelectl_bridge_";

std::string head_of(std::string_view name, std::string_view type, std::string_view help) {
    return fmt::format("# HELP {0}{1} {2}\n# TYPE {0}{1} {3}\n", kMetricPrefix, name, help, type);
}

/// Whoever wrote another word into a status does not write a line here.
constexpr std::string_view kPhases[] = {"Pending", "Running", "Succeeded", "Failed"};

} // namespace

void Metrics::add_object(const std::string& phase) {
    const bool is_known = contains(kPhases, phase);
    ++objects[phase.empty() ? "New" : is_known ? phase : "Unknown"];
}

std::string metrics_text(const Metrics& metrics) {
    std::string text = head_of("objects", "gauge", "Objects that the bridge serves, by phase.");
    for (const auto& [phase, count] : metrics.objects) {
        text += fmt::format("{}objects{{phase=\"{}\"}} {}\n", kMetricPrefix, phase, count);
    }
    for (const MetricRow& row : kMetrics) {
        text += head_of(row.name, row.type, row.help);
        text += fmt::format("{}{} {}\n", kMetricPrefix, row.name, row.value(metrics));
    }
    return text;
}

std::filesystem::path metrics_file(const ServiceRequest& request) {
    return request.sockets.parent_path() /
           ("bridge-" + request.configuration.document.name + ".metrics");
}

Result<void> store_metrics(const ServiceRequest& request, const Metrics& metrics) {
    constexpr unsigned kOwnersOnly = 0600;
    const std::filesystem::path file = metrics_file(request);
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error); // else the write says so
    return write_file(file, metrics_text(metrics), kOwnersOnly);
}

} // namespace cybele::bridge
