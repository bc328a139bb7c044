// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/orphans.hpp"
#include "bridge/service/owners.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cybele::bridge {

/// Of the jobs that name no object which is known, those that this bridge handed over. Nothing is
/// done to them: an administrator is told, who decides.
class UnknownJobs {
public:
    struct Sources {
        /// What the records of a row say of these uids.
        std::function<Result<std::map<std::string, RecordOwner>>(
            const launchers::BridgeAccount& row, const std::vector<std::string>& uids)>
            owners;
        /// Whether the object NAMESPACE/NAME with this uid exists; unset: the server does not say.
        std::function<std::optional<bool>(const std::string& place, const std::string& uid)> exists;
    };

    UnknownJobs(std::vector<launchers::BridgeAccount> rows, Sources sources)
        : rows_(std::move(rows)), sources_(std::move(sources)) {}

    /// `jobs`: all that name no known object. Those about which nothing is certain yet are asked
    /// for, one round trip per account. Whether there are jobs without an object that were not
    /// found before.
    bool look(const std::vector<SeenJob>& jobs, const Owner& self);

    [[nodiscard]] const std::map<std::string, Orphan>& orphans() const {
        return orphans_;
    }

private:
    [[nodiscard]] std::vector<SeenJob> unclear_of(const std::vector<SeenJob>& jobs,
                                                  const std::string& account) const;
    /// The claims among the account's records; unset: not all of its folders could be read.
    [[nodiscard]] std::optional<std::map<std::string, RecordOwner>>
    claims_of(const std::string& account, const std::vector<SeenJob>& jobs) const;
    /// Whether it is an orphan.
    bool add_judged(const SeenJob& job, const RecordOwner& record, const Owner& self);

    std::vector<launchers::BridgeAccount> rows_;
    Sources sources_;
    std::map<std::string, Orphan> orphans_; ///< by uid and id
    std::set<std::string> others_;          ///< jobs of somebody else, by the same
};

} // namespace cybele::bridge
