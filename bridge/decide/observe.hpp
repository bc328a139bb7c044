// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/steps.hpp"
#include "bridge/decide/view.hpp"

#include <vector>

namespace cybele::bridge {

/// The object, what is seen of its job, and what was seen before.
struct Case {
    const Object& object;
    const View& view;
    const Memory& memory;
    const World& world;
    bool is_gone = false; ///< the object is no longer on the server
};

/// Whether the object's job is on the cluster of another Site. Two clusters may give the same id,
/// so here no job is the object's.
[[nodiscard]] bool is_elsewhere(const Object& object, const World& world);

[[nodiscard]] Stage stage_of(const Case& one);
[[nodiscard]] DesiredState desired_state_of(const Case& one);
[[nodiscard]] SeenState seen_state_of(const Case& one);

/// Whether the job is the object's: its owner is the account, and it carries the object's uid, or
/// its comment was erased and the record has its id.
[[nodiscard]] bool is_ours(const SeenJob& job, const Case& one);

/// The job that stands in the object, or while none does the one that is to stand there: one that
/// was let go, else that of the record, else the lowest id. nullptr: the queue does not show it.
[[nodiscard]] const SeenJob* job_of(const Case& one);

/// Other jobs of this object that have not ended: they came late, or were handed over by another
/// controller.
[[nodiscard]] std::vector<const SeenJob*> twins_of(const Case& one);

/// Every job of the object that has not ended.
[[nodiscard]] std::vector<std::string> living_ids(const Case& one);

/// Lays one poll over what is remembered. Once a poll.
[[nodiscard]] Memory observed(const Case& one);

} // namespace cybele::bridge
