// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/batch/cluster.hpp"
#include "bridge/service/server_session.hpp"
#include "bridge/service/service.hpp"
#include "submission/backends/host.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::bridge {

/// A Bridge, as the records of its jobs name it. Two API servers may each have one of the same
/// name; their Leases have different uids.
struct Owner {
    std::string bridge;
    std::string lease; ///< uid; empty: an earlier version noted none

    bool operator<(const Owner& other) const;
};

/// What a record says of its job.
struct RecordOwner {
    bool has_claim = false; ///< false: also of a job that continues without its object
    Owner owner;
    std::string object; ///< NAMESPACE/NAME; empty: not known
};

/// Of the words of one record after its uid.
[[nodiscard]] RecordOwner read_owner(std::string_view words);

/// Whether the record is of this Bridge. One without a Lease is, by its name; one with a Lease is
/// not while this Bridge never had one.
[[nodiscard]] bool is_same(const Owner& owner, const Owner& self);

/// Whether the job of this record is an orphan of this Bridge, if its object does not exist.
[[nodiscard]] bool may_be_orphan(const RecordOwner& record, const Owner& self);

/// This Bridge, with its Lease at the API server; an empty uid where none exists.
[[nodiscard]] Result<Owner> owner_of(ServerSession& server, const std::string& bridge);

/// What the records of these jobs of the row's account say, by uid.
[[nodiscard]] Result<std::map<std::string, RecordOwner>>
read_owners(const ServiceRequest& request,
            const launchers::BridgeAccount& row,
            const std::vector<std::string>& uids,
            const submission::Meanwhile& meanwhile = nullptr);

/// The jobs of one account that have not ended and may be of a bridge.
[[nodiscard]] std::vector<SeenJob> jobs_of_account(const Poll& poll, const std::string& account);

} // namespace cybele::bridge
