// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/service.hpp"

#include <string>
#include <vector>

namespace cybele::bridge {

/// A job that this bridge handed over and that has not ended, without an object: the API server was
/// restored from a backup, or a finalizer was removed by force.
struct Orphan {
    std::string id;
    std::string account;
    std::string uid;    ///< of the object that it had
    std::string object; ///< its NAMESPACE/NAME; empty: not known
    std::string state;  ///< the batch system's word
};

/// The queue is read first, then the objects, so that a job that is younger than the list is not
/// taken for one without object. Jobs of objects with `onDelete: Orphan` are not listed.
[[nodiscard]] Result<std::vector<Orphan>> find_orphans(const ServiceRequest& request);

/// Cancels them and waits for half a minute at most; those that the queue still shows then.
[[nodiscard]] Result<std::vector<Orphan>> cancel_orphans(const ServiceRequest& request,
                                                         const std::vector<Orphan>& orphans);

} // namespace cybele::bridge
