// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/service.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace cybele::bridge {

/// What a bridge counts, for monitoring.
struct Metrics {
    std::map<std::string, std::size_t> objects = {}; ///< by phase
    std::size_t jobs_without_object = 0;
    std::size_t failing_accounts = 0;
    bool is_queue_answered = false;
    bool is_rewound = false;
    std::uint64_t rewinds = 0;
    std::uint64_t queries = 0;
    double answer_seconds = 0;
    std::uint64_t events_written = 0;
    std::uint64_t events_dropped = 0;
    std::int64_t last_round = 0; ///< Unix seconds

    /// An object of this phase; of one that has none yet it is `New`.
    void add_object(const std::string& phase);
};

/// In the text format of Prometheus.
[[nodiscard]] std::string metrics_text(const Metrics& metrics);

/// The leader leaves them there for `bridge answer`.
[[nodiscard]] std::filesystem::path metrics_file(const ServiceRequest& request);
[[nodiscard]] Result<void> store_metrics(const ServiceRequest& request, const Metrics& metrics);

} // namespace cybele::bridge
