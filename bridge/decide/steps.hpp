// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace cybele::bridge {

/// Where an object is in its life, by what stands in it alone.
enum class Stage {
    kNew,       ///< neither our finalizer nor a job
    kClaimed,   ///< our finalizer, no id of a job
    kPrepared,  ///< an id; the job may still be held by us
    kLive,      ///< the job was seen released; a hold is a person's from now on
    kOver,      ///< Complete or Failed, our finalizer is still there
    kDone,      ///< Complete or Failed, without our finalizer
    kElsewhere, ///< its job is on the cluster of another Site, whose bridge follows it
};

/// What the object's owner wants.
enum class DesiredState {
    kKeep,
    kCancel, ///< deleted; the job goes first
    kOrphan, ///< deleted; the job stays
    kGone,   ///< no longer on the server: its finalizer was taken off by force
};

/// What is seen of its job.
enum class SeenState {
    kSilent,     ///< the batch system did not answer, or the account is not known
    kUnsearched, ///< the queue shows nothing, and the record or the accounting was not asked
    kUnproven,   ///< nothing shows it, and that is not yet proof
    kAbsent,     ///< for certain nothing was handed over
    kExhausted,  ///< the same, after the last attempt
    kRefused,    ///< the batch system refused it in clear words
    kAnswered,   ///< an id was given, and the queue does not show it
    kHeld,       ///< held by its owner, which may be the bridge
    kAdminHeld,
    kAlive,
    kDying,   ///< an end that a requeue may follow
    kUnclear, ///< ended, and the queue does not say how
    kEnded,
    kLost, ///< nothing shows it, and its end is not known
};

/// What is done about it.
enum class Step {
    kWait,
    kAdmit,       ///< check the object; claim it, or refuse it
    kSearch,      ///< read the record
    kClose,       ///< read the record, and let nothing more be handed over through it
    kSubmit,      ///< hand over held
    kRecordId,    ///< write the id into the object
    kRelease,     ///< let the job go that stands in the object
    kFollow,      ///< write what the queue shows
    kInquire,     ///< ask the accounting
    kConclude,    ///< write the end
    kGiveUp,      ///< write that nothing was submitted
    kCollect,     ///< results, then the finalizer
    kCancel,      ///< ask for the end of the job
    kUnreachable, ///< say that a deletion waits for the batch system
    kLetGo,       ///< take the finalizer off
    kExpire,      ///< delete the object after its time
    kForget,      ///< nothing is left to do
};

/// A row of the table: the first that fits holds. An empty column fits everything.
struct StepRow {
    std::optional<Stage> stage;
    std::optional<DesiredState> desired_state;
    std::optional<SeenState> seen_state;
    Step step;
    std::string_view why;
};

[[nodiscard]] std::span<const StepRow> step_rows();
[[nodiscard]] const StepRow& step_of(Stage stage, DesiredState desired_state, SeenState seen_state);

} // namespace cybele::bridge
