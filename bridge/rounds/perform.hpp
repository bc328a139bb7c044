// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/batch/poll_index.hpp"
#include "bridge/server/server.hpp"

#include <string>
#include <vector>

namespace cybele::bridge {

/// An Event of an object.
struct ObjectEvent {
    Object object; ///< its identity alone: thousands may wait
    Action::Event event;
};

/// Jobs that are released and cancelled together, a call for each account, and Events, which come
/// after the writes that objects wait for.
struct Batch {
    std::vector<Named> releases;
    std::vector<Named> cancels;
    std::vector<ObjectEvent> events;
};

/// What the next turn of an object waits for. Many objects of one account ask for it together.
enum class Need {
    kNothing,
    kSearch,  ///< its record
    kInquiry, ///< accounting and record: the queue does not say enough
    kSubmit,  ///< that its job was handed over
    kOutput,  ///< the last of its output
    kTurn,    ///< that the ends of other objects were written: its own was
    kWrite,   ///< what the API server answers to its write
};

/// What earlier turns of the round have found out.
struct EarlierFindings {
    JobObservation found;
    OutputObservation output;
    std::optional<SeenJob> handed = {}; ///< the job that was handed over after the poll
};

/// A turn that goes on when its write is answered.
struct Pause {
    Action write;
    std::vector<Action> rest;    ///< was decided with it, and follows it
    Need asked = Need::kNothing; ///< what the turn was the answer to
};

/// What an object needed, and what came of it.
struct Answered {
    Need need = Need::kNothing;
    EarlierFindings known; ///< before
    JobObservation found;
    OutputObservation output;
    Pause pause = {}; ///< of kWrite, and its answer
    Written written = {};
};

/// What became of an object in one turn.
struct Outcome {
    std::optional<Object> object; ///< as the server has it now; unset: gone, or nothing to remember
    Memory memory;
    bool must_read = false; ///< what is known of it may be old: read it before the next decision
    Need need = Need::kNothing; ///< then decide again, with an Answered
    int attempt = 0;            ///< of kSubmit
    EarlierFindings known;      ///< for that Answered
    std::optional<Pause> pause; ///< a write comes first, for many objects at the same time
    Step step = Step::kWait;
};

/// What an object's actions are carried out on.
struct RoundContext {
    Server& server;
    Cluster& cluster;
    const PollIndex& index; ///< of the poll of this round
};

/// Decides and carries out, until nothing is left to do for the object before the next poll, or
/// until it needs an answer or a write, which the caller sends for many objects together. Releases,
/// cancellations and Events are put into `batch`, which perform_batch() sends.
[[nodiscard]] Outcome perform(const Case& one,
                              const RoundContext& sides,
                              Batch& batch,
                              const Answered* answered = nullptr);

void perform_batch(const Batch& batch, const RoundContext& sides);

} // namespace cybele::bridge
