// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/poll_index.hpp"
#include "bridge/server.hpp"

#include <string>
#include <vector>

namespace cybele::bridge {

/// Jobs that are released and cancelled together, a call for each account.
struct Batch {
    std::vector<Named> releases;
    std::vector<Named> cancels;
};

/// What became of an object in one round.
struct Outcome {
    std::optional<Object> object; ///< as the server has it now; unset: gone, or nothing to remember
    Memory memory;
    bool must_read = false; ///< what is known of it may be old: read it before the next decision
    bool needs_inquiry = false; ///< the queue does not say enough: decide again with an Inquired
    Step step = Step::kWait;
};

/// What an object's actions are carried out on.
struct Sides {
    Server& server;
    Cluster& cluster;
    const PollIndex& index; ///< of the poll of this round
};

/// Decides and carries out, until nothing is left to do for the object before the next poll.
/// Releases and cancellations are put into `batch`, which perform_batch() sends. Who asks the
/// accounting asks for many objects together, so this is left to the caller.
[[nodiscard]] Outcome
perform(const Case& one, const Sides& sides, Batch& batch, const Inquired* inquired = nullptr);

void perform_batch(const Batch& batch, Cluster& cluster);

} // namespace cybele::bridge
