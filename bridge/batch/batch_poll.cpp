// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/batch_cluster.hpp"
#include "support/boot_time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace cybele::bridge {
namespace {

constexpr std::size_t kMostEnds = 20000;
constexpr std::int64_t kKeepEnds = 86400;

} // namespace

/// The queue forgets an end after minutes. What it showed of one stays known for a day, so that it
/// is not lost while the API server is away.
void BatchCluster::keep_ends(Poll& poll) {
    const std::int64_t now = settings_.clock ? settings_.clock() : 0;
    std::map<std::pair<std::string, std::string>, bool> listed;
    for (const SeenJob& job : poll.jobs) {
        if (job.token.empty()) {
            continue;
        }
        listed[{job.token, job.id}] = true;
        if (submission::is_over(job.state)) {
            if (ends_.size() < kMostEnds) {
                ends_[{job.token, job.id}] = job;
            }
        } else {
            ends_.erase({job.token, job.id}); // it was requeued
        }
    }
    for (auto at = ends_.begin(); at != ends_.end();) {
        if (listed.contains(at->first)) {
            ++at;
        } else if (now - at->second.ended > kKeepEnds) {
            at = ends_.erase(at);
        } else {
            poll.jobs.push_back(at->second);
            ++at;
        }
    }
}

/// Where users do not see each other's jobs, each account lists its own.
void BatchCluster::add_private_jobs(Poll& poll) {
    std::set<std::string> listed;
    for (auto& [account, login] : logins_) {
        if (!login.is_private && !settings_.lists_each_account) {
            continue;
        }
        if (is_away(login)) {
            poll.silent.insert(account);
            continue;
        }
        submission::QueryResult own;
        if (const Result<void> allowed = may_ask(login); !allowed) {
            own.failure = allowed.error();
        } else {
            own = login.backend->look_at_all();
        }
        if (own.failure) {
            note_failure(login);
            (void)hinder(login, *own.failure);
            poll.silent.insert(account);
            continue;
        }
        login.back_off.succeeded();
        if (listed.empty()) {
            for (const SeenJob& job : poll.jobs) {
                listed.insert(job.id);
            }
        }
        for (const submission::JobStatus& status : own.seen) {
            if (status.owner == account && listed.insert(status.id).second) {
                poll.jobs.push_back(seen_job(status));
            }
        }
    }
}

Poll BatchCluster::poll() {
    ++rounds_;
    return poll_again();
}

Poll BatchCluster::poll_again() {
    ++polls_;
    Poll poll;
    const std::chrono::milliseconds begin = boot_time();
    const submission::QueryResult all = reader_->look_at_all();
    answer_time_ = boot_time() - begin;
    if (all.failure) {
        const Fault& fault = all.failure->faults().front();
        poll.words = fault.message + ": " + fault.because;
        report(poll.words);
        return poll;
    }
    poll.is_complete = true;
    poll.jobs.reserve(all.seen.size());
    for (const submission::JobStatus& status : all.seen) {
        poll.jobs.push_back(seen_job(status));
    }
    add_private_jobs(poll);
    answer_time_ = boot_time() - begin;
    keep_ends(poll);
    return poll;
}

} // namespace cybele::bridge
