// SPDX-License-Identifier: Apache-2.0
#include "bridge/orphans.hpp"

#include "bridge/batch_cluster.hpp"
#include "bridge/patterns.hpp"
#include "bridge/record_scripts.hpp"
#include "bridge/server_session.hpp"
#include "bridge/ways.hpp"
#include "submission/backends/command_backend.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

constexpr std::size_t kMostUids = 200; ///< of one call: a command line is bounded

BatchCluster cluster_of(const ServiceRequest& request, std::string& words) {
    ClusterSettings settings;
    settings.bridge = request.configuration.document.name;
    settings.dialect = request.configuration.dialect;
    settings.accounts = request.configuration.document.accounts;
    settings.reader = reader_of(request.configuration.document);
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
    return poll;
}

/// What the records of these jobs say, by uid.
Result<std::map<std::string, std::string>> describe(const ServiceRequest& request,
                                                    const launchers::BridgeAccount& row,
                                                    const std::vector<std::string>& uids) {
    const auto host =
        host_of({row.way, row.account, request.sockets, request.environment, nullptr});
    std::map<std::string, std::string> words;
    for (std::size_t at = 0; at < uids.size(); at += kMostUids) {
        submission::Call call;
        call.argv = {"sh", "-c", std::string(kDescribe), "cybelectl", records_of(row).native()};
        call.argv.insert(call.argv.end(),
                         uids.begin() + static_cast<std::ptrdiff_t>(at),
                         uids.begin() +
                             static_cast<std::ptrdiff_t>(std::min(uids.size(), at + kMostUids)));
        CYBELE_TRY(const submission::Answers answers, host->exchange({call}, {}));
        const cybele::Outcome& outcome = answers.outcomes.front();
        if (!outcome.ok()) {
            return fail(ErrorCode::kEnvironment,
                        problem("bridge-records-unreadable",
                                fmt::format("the records of {} cannot be read", row.account)),
                        printable(submission::words_of(outcome)),
                        "cybelectl bridge check");
        }
        for (const auto& line : text::split(outcome.output, '\n')) {
            const std::string whole(line);
            const std::size_t space = whole.find(' ');
            if (space != std::string::npos) {
                words[whole.substr(0, space)] = whole.substr(space + 1);
            }
        }
    }
    return words;
}

/// Of the words of a record; unset: it is not a job of this bridge, or it is to go on without its
/// object.
std::optional<std::string> object_of_record(const std::string& words, const std::string& bridge) {
    const auto parts = text::split(words, ' ');
    if (parts.empty() || parts.front() != "claim") {
        return std::nullopt;
    }
    if (parts.size() < 3 || parts[1].empty()) {
        return std::string(); // of an earlier version
    }
    const std::string place(parts[2]);
    if (parts[1] != bridge || !is_place_text(place)) {
        return std::nullopt;
    }
    return place;
}

struct Candidates {
    std::map<std::string, std::vector<SeenJob>> jobs; ///< by account
};

Candidates candidates_of(const Poll& poll,
                         const launchers::Bridge& document,
                         const std::set<std::string>& known) {
    Candidates candidates;
    for (const SeenJob& job : poll.jobs) {
        const bool is_served =
            std::any_of(document.accounts.begin(), document.accounts.end(), [&](const auto& row) {
                return row.account == job.owner;
            });
        if (is_served && is_uid(job.token) && !submission::is_over(job.state) &&
            !known.contains(job.token)) {
            candidates.jobs[job.owner].push_back(job);
        }
    }
    return candidates;
}

/// Jobs of one account, of which a record below one of its work folders says whose they are.
Result<void> add_orphans(const ServiceRequest& request,
                         const launchers::BridgeAccount& row,
                         const std::vector<SeenJob>& jobs,
                         ServerSession& server,
                         std::vector<Orphan>& orphans) {
    std::vector<std::string> uids;
    uids.reserve(jobs.size());
    for (const SeenJob& job : jobs) {
        uids.push_back(job.token);
    }
    CYBELE_TRY(auto words, describe(request, row, uids));
    for (const SeenJob& job : jobs) {
        const auto place = object_of_record(words[job.token], request.configuration.document.name);
        if (!place) {
            continue;
        }
        if (!place->empty()) { // a namespace that is no longer served still has its objects
            CYBELE_TRY(const bool is_there, server.exists(*place, job.token));
            if (is_there) {
                continue;
            }
        }
        orphans.push_back({job.id, job.owner, job.token, *place, job.native});
    }
    return {};
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
    Candidates candidates = candidates_of(poll, document, known);
    std::vector<Orphan> orphans;
    std::set<std::pair<std::string, std::string>> asked; ///< account and folder
    for (const launchers::BridgeAccount& row : document.accounts) {
        const auto found = candidates.jobs.find(row.account);
        if (found != candidates.jobs.end() &&
            asked.emplace(row.account, row.workdir.native()).second) {
            CYBELE_CHECK(add_orphans(request, row, found->second, *server, orphans));
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
            return std::none_of(seen.jobs.begin(), seen.jobs.end(), [&](const SeenJob& job) {
                return job.id == orphan.id && job.token == orphan.uid &&
                       !submission::is_over(job.state);
            });
        });
    }
    return left;
}

} // namespace cybele::bridge
