// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/event.hpp"
#include "apiserver/lease.hpp"
#include "bridge/batch/batch_cluster.hpp"
#include "bridge/rounds/rounds.hpp"
#include "bridge/server/pump.hpp"
#include "bridge/service/metrics.hpp"
#include "bridge/service/service.hpp"
#include "bridge/service/unknown_jobs.hpp"
#include "submission/backends/host.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cybele::bridge {

/// What a bridge shows to administrators: Events of its Lease, since a log is not always kept, and
/// metrics.
class AdminReporter {
public:
    struct Parts {
        const ServiceRequest& request;
        std::string name_space; ///< of the Lease
        Pump& pump;
        apiserver::EventRecorder& events;
        apiserver::Lease& lease;
        BatchCluster& cluster;
        submission::Meanwhile meanwhile;
        std::function<std::string()> stamp;
    };

    explicit AdminReporter(Parts parts);

    void report_rewound();
    /// Every five minutes: which of these jobs, that name no known object, have none.
    void report_unknown_jobs(const std::vector<SeenJob>& jobs);
    /// Adds what is known here.
    [[nodiscard]] Result<void> write_metrics(Metrics metrics, const Rounds& rounds);

private:
    [[nodiscard]] UnknownJobs::Sources sources();
    void record(const apiserver::EventText& text);

    Parts parts_;
    UnknownJobs unknown_jobs_;
    std::chrono::milliseconds next_look_{0};
    std::uint64_t rewinds_ = 0;
};

} // namespace cybele::bridge
