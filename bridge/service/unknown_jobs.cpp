// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/unknown_jobs.hpp"

#include "bridge/batch/ways.hpp"

#include <filesystem>

namespace cybele::bridge {
namespace {

constexpr std::size_t kMostStrangers = 200; ///< of one account that are asked for at a time

std::string key_of(const SeenJob& job) {
    return job.token + " " + job.id;
}

} // namespace

bool UnknownJobs::look(const std::vector<SeenJob>& jobs, const Owner& self) {
    std::set<std::string> listed;
    std::set<std::string> accounts;
    for (const SeenJob& job : jobs) {
        listed.insert(key_of(job));
        accounts.insert(job.owner);
    }
    std::erase_if(orphans_, [&](const auto& orphan) { return !listed.contains(orphan.first); });
    std::erase_if(others_, [&](const std::string& key) { return !listed.contains(key); });
    bool has_news = false;
    for (const std::string& account : accounts) {
        const std::vector<SeenJob> unclear = unclear_of(jobs, account);
        const auto claims = unclear.empty() ? std::nullopt : claims_of(account, unclear);
        if (!claims) {
            continue;
        }
        for (const SeenJob& job : unclear) {
            const auto found = claims->find(job.token);
            if (found == claims->end()) {
                others_.insert(key_of(job));
            } else {
                has_news = add_judged(job, found->second, self) || has_news;
            }
        }
    }
    return has_news;
}

std::vector<SeenJob> UnknownJobs::unclear_of(const std::vector<SeenJob>& jobs,
                                             const std::string& account) const {
    std::vector<SeenJob> unclear;
    for (const SeenJob& job : jobs) {
        const std::string key = key_of(job);
        if (job.owner == account && !orphans_.contains(key) && !others_.contains(key) &&
            unclear.size() < kMostStrangers) {
            unclear.push_back(job);
        }
    }
    return unclear;
}

std::optional<std::map<std::string, RecordOwner>>
UnknownJobs::claims_of(const std::string& account, const std::vector<SeenJob>& jobs) const {
    std::vector<std::string> uids;
    uids.reserve(jobs.size());
    for (const SeenJob& job : jobs) {
        uids.push_back(job.token);
    }
    std::map<std::string, RecordOwner> claims;
    std::set<std::filesystem::path> asked;
    for (const launchers::BridgeAccount& row : rows_) {
        if (row.account != account || !asked.insert(records_of(row)).second) {
            continue;
        }
        const auto owners = sources_.owners(row, uids);
        if (!owners) {
            return std::nullopt;
        }
        for (const auto& [uid, record] : *owners) {
            if (record.has_claim) {
                claims[uid] = record;
            }
        }
    }
    return claims;
}

bool UnknownJobs::add_judged(const SeenJob& job, const RecordOwner& record, const Owner& self) {
    if (!may_be_orphan(record, self)) {
        others_.insert(key_of(job));
        return false;
    }
    // It may exist, although the bridge serves its namespace no longer; then it is asked again.
    const bool has_none =
        record.object.empty() || sources_.exists(record.object, job.token) == std::optional(false);
    if (has_none) {
        orphans_[key_of(job)] = {job.id, job.owner, job.token, record.object, job.native};
    }
    return has_none;
}

} // namespace cybele::bridge
