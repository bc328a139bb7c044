// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/probe.hpp"

#include "bridge/batch/batch_cluster.hpp"
#include "bridge/batch/ways.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

constexpr int kMostLooks = 10;
constexpr std::chrono::seconds kBetweenProbeLooks{1};

/// A job that would end at once, if it were ever let go.
Object probe_object(const ServiceRequest& request, const launchers::BridgeAccount& row) {
    Object object;
    object.kind = request.configuration.site.kind;
    object.space = row.name_space;
    object.name = "cybelectl-probe";
    object.uid = random_uuid();
    object.resource_version = "0";
    object.spec.batch = "#!/bin/sh\ntrue\n";
    object.spec.queue = row.queues.empty() ? "" : row.queues.front();
    return object;
}

/// One probe of one account.
class Probe {
public:
    Probe(const ServiceRequest& request, const launchers::BridgeAccount& row)
        : request_(request), row_(row), object_(probe_object(request, row)),
          cluster_(cluster_settings()) {}

    std::optional<Fault> run() {
        const RecordObservation sight = cluster_.submit_held(object_, row_.account, 1);
        if (sight.answer.empty()) {
            remove_record();
            return probe_fault(ErrorCode::kEnvironment,
                               problem("bridge-probe-refused",
                                       fmt::format("{} cannot submit a held job", row_.account)),
                               sight.refusal.empty() ? words_ : sight.refusal,
                               "submit a job as that user by hand, and correct `queues` or `way`");
        }
        object_.status.job_id = sight.answer;
        const SeenJob* job = nullptr;
        for (int look = 0; look < kMostLooks && job == nullptr; ++look) {
            job = look_for(sight.answer);
        }
        std::optional<Fault> found = fault_of_job(job, sight.answer);
        cluster_.cancel({{row_.account, sight.answer}});
        if (const auto left = wait_for_end(sight.answer); left && !found) {
            found = left;
        }
        remove_record();
        return found;
    }

private:
    ClusterSettings cluster_settings() {
        ClusterSettings settings;
        settings.bridge = request_.configuration.document.name;
        settings.dialect = request_.configuration.dialect;
        settings.default_queue = request_.configuration.site.default_queue;
        settings.accounts = {row_};
        settings.reader = reader_of(request_.configuration.document);
        settings.sockets = request_.sockets;
        settings.program = request_.program;
        settings.environment = request_.environment;
        settings.on_words = [this](const std::string& words) { words_ = words; };
        return settings;
    }

    static Fault
    probe_fault(ErrorCode code, Problem problem, const std::string& because, std::string help) {
        return Fault(code, std::move(problem), printable(because), std::move(help));
    }

    const SeenJob* look_for(const std::string& id) {
        poll_ = cluster_.poll();
        const auto found = std::ranges::find(poll_.jobs, id, &SeenJob::id);
        if (found != poll_.jobs.end()) {
            return &*found;
        }
        std::this_thread::sleep_for(kBetweenProbeLooks);
        return nullptr;
    }

    [[nodiscard]] std::optional<Fault> fault_of_job(const SeenJob* job,
                                                    const std::string& id) const {
        if (job == nullptr) {
            return probe_fault(
                ErrorCode::kEnvironment,
                problem("bridge-probe-not-listed",
                        fmt::format("the queue does not show job {} of {}", id, row_.account)),
                words_.empty() ? "the site may hide jobs of other users" : words_,
                "set `reader` to a user who sees the jobs of all accounts");
        }
        if (job->token != object_.uid) {
            return probe_fault(
                ErrorCode::kEnvironment,
                problem("bridge-probe-token-lost",
                        fmt::format("job {} of {} lost its token", id, row_.account)),
                "the site replaces the comment or the variables of jobs",
                "ask the site to keep them: the bridge finds jobs by the token");
        }
        if (job->state != submission::State::kHeld) {
            return probe_fault(ErrorCode::kEnvironment,
                               problem("bridge-probe-not-held",
                                       fmt::format("job {} of {} is not held", id, row_.account)),
                               fmt::format("its state is {}", job->native),
                               "ask the site why jobs submitted with a hold start");
        }
        return std::nullopt;
    }

    std::optional<Fault> wait_for_end(const std::string& id) {
        for (int look = 0; look < kMostLooks; ++look) {
            const SeenJob* job = look_for(id);
            if (poll_.is_complete && (job == nullptr || submission::is_over(job->state))) {
                return std::nullopt;
            }
            std::this_thread::sleep_for(kBetweenProbeLooks);
        }
        return probe_fault(ErrorCode::kEnvironment,
                           problem("bridge-probe-not-cancelled",
                                   fmt::format("job {} of {} was not cancelled", id, row_.account)),
                           words_.empty() ? "the queue still shows it" : words_,
                           "cancel it by hand");
    }

    void remove_record() const {
        const auto host =
            host_of({row_.way, row_.account, request_.sockets, request_.environment, nullptr});
        submission::Call call;
        call.argv = {"rm", "-rf", "--", (records_of(row_) / ".cybelectl" / object_.uid).native()};
        (void)host->exchange({call}, {}); // what stays is a folder without consequence
    }

    const ServiceRequest& request_;
    const launchers::BridgeAccount& row_;
    Object object_;
    std::string words_;
    BatchCluster cluster_;
    Poll poll_;
};

} // namespace

std::optional<Fault> probe_account(const ServiceRequest& request,
                                   const launchers::BridgeAccount& row) {
    return Probe(request, row).run();
}

} // namespace cybele::bridge
