// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/orphans.hpp"

#include "bridge/batch/batch_cluster.hpp"
#include "bridge/service/owners.hpp"
#include "bridge/service/server_session.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

namespace cybele::bridge {
namespace {

BatchCluster cluster_of(const ServiceRequest& request, std::string& words) {
    ClusterSettings settings;
    settings.bridge = request.configuration.document.name;
    settings.dialect = request.configuration.dialect;
    settings.accounts = request.configuration.document.accounts;
    settings.reader = reader_of(request.configuration.document);
    settings.lists_each_account = true; // where users do not see each other's jobs
    settings.sockets = request.sockets;
    settings.program = request.program;
    settings.environment = request.environment;
    settings.on_words = [&words](const std::string& what) { words = what; };
    return BatchCluster(std::move(settings));
}

Result<Poll> whole_queue(Cluster& cluster) {
    Poll poll = cluster.poll();
    if (!poll.is_complete) {
        return fail(ErrorCode::kEnvironment,
                    problem("bridge-queue-unreadable", "the queue cannot be read"),
                    printable(poll.words),
                    "cybelectl bridge check");
    }
    if (!poll.silent.empty()) { // its jobs would be missing in the list, or count as ended
        const std::string& account = *poll.silent.begin();
        return fail(ErrorCode::kEnvironment,
                    problem("bridge-account-unlisted",
                            "the jobs of " + printable(account) + " cannot be listed"),
                    printable(cluster.failure_of(account).message),
                    "cybelectl bridge check");
    }
    return poll;
}

/// Whether the object exists, also where the Bridge serves its namespace no longer.
Result<bool> has_object(ServerSession& server, const RecordOwner& record, const SeenJob& job) {
    return record.object.empty() ? Result<bool>(false) : server.exists(record.object, job.token);
}

std::vector<std::string> tokens_of(const std::vector<SeenJob>& jobs) {
    std::vector<std::string> tokens;
    tokens.reserve(jobs.size());
    for (const SeenJob& job : jobs) {
        tokens.push_back(job.token);
    }
    return tokens;
}

/// Jobs of one account, of which a record below one of its work folders says whose they are.
Result<std::vector<Orphan>> orphans_of(const ServiceRequest& request,
                                       const launchers::BridgeAccount& row,
                                       const std::vector<SeenJob>& jobs,
                                       const Owner& self,
                                       ServerSession& server) {
    std::vector<Orphan> orphans;
    CYBELE_TRY(auto owners, read_owners(request, row, tokens_of(jobs)));
    for (const SeenJob& job : jobs) {
        const RecordOwner& record = owners[job.token];
        if (!may_be_orphan(record, self)) {
            continue;
        }
        CYBELE_TRY(const bool is_there, has_object(server, record, job));
        if (!is_there) {
            orphans.push_back({job.id, job.owner, job.token, record.object, job.native});
        }
    }
    return orphans;
}

} // namespace

Result<std::vector<Orphan>> find_orphans(const ServiceRequest& request) {
    CYBELE_TRY(const std::unique_ptr<ServerSession> server, ServerSession::open(request));
    std::string words;
    BatchCluster cluster = cluster_of(request, words);
    CYBELE_TRY(const Poll poll, whole_queue(cluster));
    std::set<std::string> known;
    CYBELE_CHECK(server->each_object([&](const Object& object) { known.insert(object.uid); }));
    const launchers::Bridge& document = request.configuration.document;
    CYBELE_TRY(const Owner self, owner_of(*server, document.name));
    std::vector<Orphan> orphans;
    std::set<std::pair<std::string, std::string>> asked; ///< account and folder
    for (const launchers::BridgeAccount& row : document.accounts) {
        std::vector<SeenJob> jobs = jobs_of_account(poll, row.account);
        std::erase_if(jobs, [&](const SeenJob& job) { return known.contains(job.token); });
        if (!jobs.empty() && asked.emplace(row.account, row.workdir.native()).second) {
            CYBELE_TRY(const auto more, orphans_of(request, row, jobs, self, *server));
            orphans.insert(orphans.end(), more.begin(), more.end());
        }
    }
    return orphans;
}

Result<std::vector<Orphan>> cancel_orphans(const ServiceRequest& request,
                                           const std::vector<Orphan>& orphans) {
    std::string words;
    BatchCluster cluster = cluster_of(request, words);
    std::vector<Named> jobs;
    jobs.reserve(orphans.size());
    for (const Orphan& orphan : orphans) {
        jobs.push_back({orphan.account, orphan.id});
    }
    cluster.cancel(jobs);
    std::vector<Orphan> left = orphans;
    constexpr int kMostPolls = 6;
    constexpr std::chrono::seconds kPause{5};
    for (int poll = 0; poll < kMostPolls && !left.empty(); ++poll) {
        std::this_thread::sleep_for(poll == 0 ? std::chrono::seconds(1) : kPause);
        CYBELE_TRY(const Poll seen, whole_queue(cluster));
        std::erase_if(left, [&](const Orphan& orphan) {
            return std::ranges::none_of(seen.jobs, [&](const SeenJob& job) {
                return job.id == orphan.id && job.token == orphan.uid &&
                       !submission::is_over(job.state);
            });
        });
    }
    return left;
}

} // namespace cybele::bridge
