// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/owners.hpp"

#include "bridge/batch/record_scripts.hpp"
#include "bridge/batch/ways.hpp"
#include "bridge/objects/patterns.hpp"
#include "submission/backends/command_backend.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

constexpr std::size_t kMostUids = 200; ///< of one call: a command line is bounded

} // namespace

bool Owner::operator<(const Owner& other) const {
    return std::tie(bridge, lease) < std::tie(other.bridge, other.lease);
}

RecordOwner read_owner(std::string_view words) {
    RecordOwner owner;
    const auto parts = text::split(words, ' ');
    owner.has_claim = !parts.empty() && parts.front() == "claim";
    if (!owner.has_claim || parts.size() < 3 || parts[1].empty()) {
        return owner; // nothing is known of it, or little: of an earlier version
    }
    owner.owner.bridge = parts[1];
    owner.object = parts[2];
    constexpr std::size_t kPlaceOfLease = 4;
    if (parts.size() > kPlaceOfLease && is_uid(parts[kPlaceOfLease])) {
        owner.owner.lease = parts[kPlaceOfLease];
    }
    return owner;
}

bool is_same(const Owner& owner, const Owner& self) {
    return owner.bridge == self.bridge && (owner.lease.empty() || owner.lease == self.lease);
}

bool may_be_orphan(const RecordOwner& record, const Owner& self) {
    const bool is_noted = !record.object.empty(); // not by an earlier version
    return record.has_claim &&
           (!is_noted || (is_same(record.owner, self) && is_place_text(record.object)));
}

Result<Owner> owner_of(ServerSession& server, const std::string& bridge) {
    CYBELE_TRY(const nlohmann::json lease,
               server.read_if_present("/apis/coordination.k8s.io/v1/namespaces/" +
                                      server.name_space() + "/leases/cybelectl-bridge-" + bridge));
    Owner self{bridge, {}};
    if (lease.is_object() && lease.contains("metadata") && lease["metadata"].is_object()) {
        const nlohmann::json uid = lease["metadata"].value("uid", nlohmann::json());
        self.lease = uid.is_string() ? uid.get<std::string>() : "";
    }
    return self;
}

Result<std::map<std::string, RecordOwner>> read_owners(const ServiceRequest& request,
                                                       const launchers::BridgeAccount& row,
                                                       const std::vector<std::string>& uids,
                                                       const submission::Meanwhile& meanwhile) {
    const auto host =
        host_of({row.way, row.account, request.sockets, request.environment, meanwhile});
    std::map<std::string, RecordOwner> owners;
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
        for (const std::string_view line : text::split(outcome.output, '\n')) {
            const std::size_t space = line.find(' ');
            if (space != std::string_view::npos) {
                owners[std::string(line.substr(0, space))] = read_owner(line.substr(space + 1));
            }
        }
    }
    return owners;
}

std::vector<SeenJob> jobs_of_account(const Poll& poll, const std::string& account) {
    std::vector<SeenJob> jobs;
    for (const SeenJob& job : poll.jobs) {
        if (job.owner == account && is_uid(job.token) && !submission::is_over(job.state)) {
            jobs.push_back(job);
        }
    }
    return jobs;
}

} // namespace cybele::bridge
