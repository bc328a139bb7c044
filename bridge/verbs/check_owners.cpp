// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/check_owners.hpp"

#include "bridge/service/owners.hpp"
#include "support/quote.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

Fault same_name(const std::string& account,
                const Owner& other,
                std::size_t count,
                const Owner& self) {
    return Fault(ErrorCode::kInput,
                 problem("bridge-name-taken",
                         fmt::format("account {} has jobs of another Bridge named {}: {}",
                                     account,
                                     other.bridge,
                                     count)),
                 fmt::format("the uid of its Lease is {}, {}: it runs at another API server, or "
                             "its Lease was deleted",
                             other.lease,
                             self.lease.empty() ? "and this Bridge has no Lease yet"
                                                : "that of this Bridge is " + self.lease),
                 "give each Bridge that submits to this cluster a `name` of its own");
}

} // namespace

void check_owners(const ServiceRequest& request,
                  const Poll& poll,
                  const std::function<void(const CheckFinding&)>& report) {
    const launchers::Bridge& document = request.configuration.document;
    const auto server = ServerSession::open(request);
    if (!server) {
        return; // it was reported as a server without an answer
    }
    const auto self = owner_of(**server, document.name);
    std::set<std::pair<std::string, std::string>> asked; ///< account and folder
    for (const launchers::BridgeAccount& row : document.accounts) {
        const std::vector<SeenJob> jobs = jobs_of_account(poll, row.account);
        if (!self || jobs.empty() || !asked.emplace(row.account, row.workdir.native()).second) {
            continue;
        }
        std::vector<std::string> uids;
        uids.reserve(jobs.size());
        for (const SeenJob& job : jobs) {
            uids.push_back(job.token);
        }
        const auto records = read_owners(request, row, uids);
        std::map<Owner, std::size_t> counts;
        for (const auto& [uid, record] :
             records ? *records : std::map<std::string, RecordOwner>{}) {
            if (!record.owner.bridge.empty() && !is_same(record.owner, *self)) {
                ++counts[record.owner];
            }
        }
        for (const auto& [owner, count] : counts) {
            const std::string what = fmt::format("account {}: jobs of another Bridge named {}",
                                                 row.account,
                                                 printable(owner.bridge));
            if (owner.bridge == document.name) {
                report({what, same_name(row.account, owner, count, *self)});
            } else {
                report({fmt::format("{}: {}", what, count), std::nullopt});
            }
        }
    }
}

} // namespace cybele::bridge
