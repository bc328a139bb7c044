// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/admin_reporter.hpp"

#include "bridge/server/api_server.hpp"
#include "support/boot_time.hpp"

#include <cstddef>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

constexpr std::chrono::milliseconds kBetweenStrangers{300'000};

} // namespace

AdminReporter::AdminReporter(Parts parts)
    : parts_(std::move(parts)),
      unknown_jobs_(parts_.request.configuration.document.accounts, sources()) {}

UnknownJobs::Sources AdminReporter::sources() {
    const auto owners = [this](const launchers::BridgeAccount& row,
                               const std::vector<std::string>& uids) {
        return read_owners(parts_.request, row, uids, parts_.meanwhile);
    };
    const auto exists = [this](const std::string& place, const std::string& uid) {
        const Configuration& configuration = parts_.request.configuration;
        const std::size_t slash = place.find('/');
        const std::string space = place.substr(0, slash);
        std::vector<std::string> collections{collection_path(configuration.site.kind, space)};
        if (configuration.document.manages_jobs) {
            collections.push_back(job_collection_path(space));
        }
        return exists_in(parts_.pump, collections, place.substr(slash + 1), uid);
    };
    return {owners, exists};
}

/// Events of one reason and key are one, which counts.
void AdminReporter::record(const apiserver::EventText& text) {
    parts_.events.record({"coordination.k8s.io/v1",
                          "Lease",
                          parts_.name_space,
                          "cybelectl-bridge-" + parts_.request.configuration.document.name,
                          parts_.lease.uid()},
                         text,
                         boot_time());
}

void AdminReporter::report_rewound() {
    ++rewinds_;
    const std::string stamp = parts_.stamp();
    parts_.lease.mark_rewound();
    record(
        {"Rewound",
         "Compare",
         "the API server was put back to an earlier state; nothing is handed over until all jobs "
         "were compared with the objects",
         true,
         stamp});
}

void AdminReporter::report_unknown_jobs(const std::vector<SeenJob>& jobs) {
    if (parts_.lease.uid().empty() || boot_time() < next_look_) {
        return;
    }
    next_look_ = boot_time() + kBetweenStrangers;
    const Owner self{parts_.request.configuration.document.name, parts_.lease.uid()};
    if (!unknown_jobs_.look(jobs, self)) {
        return;
    }
    const auto& orphans = unknown_jobs_.orphans();
    const Orphan& first = orphans.begin()->second;
    if (parts_.request.log) {
        parts_.request.log({{},
                            {},
                            "Orphans",
                            fmt::format("jobs without an object: {}; one is job {} of {}",
                                        orphans.size(),
                                        first.id,
                                        first.account)});
    }
    record({"JobsWithoutObject",
            "List",
            "jobs whose objects do not exist run on; `cybelectl bridge orphans` lists them, and "
            "--cancel ends them",
            true,
            {}});
}

Result<void> AdminReporter::write_metrics(Metrics metrics, const Rounds& rounds) {
    rounds.each([&](const Object& object) { metrics.add_object(object.status.phase); });
    std::set<std::string> failing;
    for (const launchers::BridgeAccount& row : parts_.request.configuration.document.accounts) {
        if (!parts_.cluster.failure_of(row.account).empty()) {
            failing.insert(row.account);
        }
    }
    metrics.failing_accounts = failing.size();
    metrics.jobs_without_object = unknown_jobs_.orphans().size();
    metrics.rewinds = rewinds_;
    metrics.queries = parts_.cluster.polls();
    metrics.answer_seconds = std::chrono::duration<double>(parts_.cluster.answer_time()).count();
    metrics.events_written = parts_.events.written();
    metrics.events_dropped = parts_.events.dropped();
    return store_metrics(parts_.request, metrics);
}

} // namespace cybele::bridge
