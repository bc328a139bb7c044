// SPDX-License-Identifier: Apache-2.0
#include "bridge/decide/steps.hpp"

#include <algorithm>
#include <array>

namespace cybele::bridge {
namespace {

constexpr std::nullopt_t kAny = std::nullopt;

using enum Stage;

// clang-format off
constexpr std::array kSteps{
    // An object that the bridge has not touched.
    StepRow{kNew, DesiredState::kKeep, kAny, Step::kAdmit, "the object asks for a job"},
    StepRow{kNew, kAny, kAny, Step::kForget, "nothing was claimed, so nothing was handed over"},

    // Claimed: a job may have been handed over whose id is not known.
    StepRow{kClaimed, kAny, SeenState::kSilent, Step::kUnreachable, "a failed query is not an answer"},
    StepRow{kClaimed, DesiredState::kKeep, SeenState::kUnsearched, Step::kSearch, "always before a hand-over"},
    StepRow{kClaimed, DesiredState::kKeep, SeenState::kUnproven, Step::kSearch, "a late job may still appear"},
    StepRow{kClaimed, DesiredState::kKeep, SeenState::kAbsent, Step::kSubmit, "nothing was handed over"},
    StepRow{kClaimed, DesiredState::kKeep, SeenState::kExhausted, Step::kGiveUp, "no further attempt is left"},
    StepRow{kClaimed, DesiredState::kKeep, SeenState::kRefused, Step::kGiveUp, "clear words are final"},
    StepRow{kClaimed, DesiredState::kKeep, kAny, Step::kRecordId, "a job was found: it is the one"},
    StepRow{kClaimed, kAny, SeenState::kUnsearched, Step::kClose, "a hand-over may be under way elsewhere"},
    StepRow{kClaimed, kAny, SeenState::kUnproven, Step::kClose, "a late job may still appear"},
    StepRow{kClaimed, kAny, SeenState::kAbsent, Step::kLetGo, "nothing was handed over"},
    StepRow{kClaimed, kAny, SeenState::kExhausted, Step::kLetGo, "nothing was handed over"},
    StepRow{kClaimed, kAny, SeenState::kRefused, Step::kLetGo, "nothing was handed over"},
    StepRow{kClaimed, kAny, SeenState::kEnded, Step::kLetGo, "it has ended"},
    StepRow{kClaimed, kAny, SeenState::kUnclear, Step::kLetGo, "it has ended"},
    StepRow{kClaimed, kAny, SeenState::kLost, Step::kLetGo, "it is gone from the batch system"},
    StepRow{kClaimed, kAny, kAny, Step::kCancel, "it was never released"},

    // The id stands in the object, and the job may still be held.
    StepRow{kPrepared, DesiredState::kKeep, SeenState::kSilent, Step::kWait, "a failed query is not an answer"},
    StepRow{kPrepared, DesiredState::kKeep, SeenState::kHeld, Step::kRelease, "this id alone is ever released"},
    StepRow{kPrepared, DesiredState::kOrphan, SeenState::kSilent, Step::kUnreachable, "it may be held for ever"},
    StepRow{kPrepared, DesiredState::kOrphan, SeenState::kHeld, Step::kRelease, "else it is held for ever"},
    StepRow{kPrepared, DesiredState::kOrphan, SeenState::kUnsearched, Step::kInquire, "it may be held for ever"},
    StepRow{kPrepared, DesiredState::kOrphan, SeenState::kUnproven, Step::kInquire, "it may be held for ever"},

    // Both, from here on: what is kept is followed.
    StepRow{kAny, DesiredState::kGone, SeenState::kSilent, Step::kWait, "a failed query is not an answer"},
    StepRow{kPrepared, DesiredState::kKeep, SeenState::kUnsearched, Step::kInquire, "not listed is not a state"},
    StepRow{kPrepared, DesiredState::kKeep, SeenState::kUnproven, Step::kInquire, "not listed is not a state"},
    StepRow{kPrepared, DesiredState::kKeep, SeenState::kDying, Step::kWait, "a requeue may follow"},
    StepRow{kPrepared, DesiredState::kKeep, SeenState::kUnclear, Step::kInquire, "the queue does not say how"},
    StepRow{kPrepared, DesiredState::kKeep, SeenState::kEnded, Step::kConclude, "the end is known"},
    StepRow{kPrepared, DesiredState::kKeep, SeenState::kLost, Step::kConclude, "its end is not known"},
    StepRow{kPrepared, DesiredState::kKeep, kAny, Step::kFollow, "it lives"},
    StepRow{kLive, DesiredState::kKeep, SeenState::kSilent, Step::kWait, "a failed query is not an answer"},
    StepRow{kLive, DesiredState::kKeep, SeenState::kUnsearched, Step::kInquire, "not listed is not a state"},
    StepRow{kLive, DesiredState::kKeep, SeenState::kUnproven, Step::kInquire, "not listed is not a state"},
    StepRow{kLive, DesiredState::kKeep, SeenState::kDying, Step::kWait, "a requeue may follow"},
    StepRow{kLive, DesiredState::kKeep, SeenState::kUnclear, Step::kInquire, "the queue does not say how"},
    StepRow{kLive, DesiredState::kKeep, SeenState::kEnded, Step::kConclude, "the end is known"},
    StepRow{kLive, DesiredState::kKeep, SeenState::kLost, Step::kConclude, "its end is not known"},
    StepRow{kLive, DesiredState::kKeep, kAny, Step::kFollow, "it lives"},

    // Deleted while the job lives.
    StepRow{kPrepared, DesiredState::kOrphan, kAny, Step::kLetGo, "the job runs on without the object"},
    StepRow{kLive, DesiredState::kOrphan, kAny, Step::kLetGo, "the job runs on without the object"},
    StepRow{kPrepared, kAny, SeenState::kSilent, Step::kUnreachable, "its end cannot be proven now"},
    StepRow{kLive, kAny, SeenState::kSilent, Step::kUnreachable, "its end cannot be proven now"},
    StepRow{kPrepared, kAny, SeenState::kUnsearched, Step::kInquire, "not listed is not a proof"},
    StepRow{kLive, kAny, SeenState::kUnsearched, Step::kInquire, "not listed is not a proof"},
    StepRow{kPrepared, kAny, SeenState::kUnproven, Step::kInquire, "not listed is not a proof"},
    StepRow{kLive, kAny, SeenState::kUnproven, Step::kInquire, "not listed is not a proof"},
    StepRow{kPrepared, kAny, SeenState::kEnded, Step::kLetGo, "the batch system shows its end"},
    StepRow{kLive, kAny, SeenState::kEnded, Step::kLetGo, "the batch system shows its end"},
    StepRow{kPrepared, kAny, SeenState::kUnclear, Step::kLetGo, "the batch system shows its end"},
    StepRow{kLive, kAny, SeenState::kUnclear, Step::kLetGo, "the batch system shows its end"},
    StepRow{kPrepared, kAny, SeenState::kLost, Step::kLetGo, "it is gone from the batch system"},
    StepRow{kLive, kAny, SeenState::kLost, Step::kLetGo, "it is gone from the batch system"},
    StepRow{kPrepared, kAny, kAny, Step::kCancel, "until the batch system shows its end"},
    StepRow{kLive, kAny, kAny, Step::kCancel, "until the batch system shows its end"},

    // Ended.
    StepRow{kOver, DesiredState::kGone, kAny, Step::kForget, "it has ended"},
    StepRow{kOver, kAny, kAny, Step::kCollect, "results first, then the finalizer"},
    StepRow{kDone, DesiredState::kKeep, kAny, Step::kExpire, "until its time is over"},
    StepRow{kDone, kAny, kAny, Step::kForget, "it has ended"},

    // Two bridges with different clusters serve the namespace.
    StepRow{kElsewhere, DesiredState::kGone, kAny, Step::kForget, "its job is not here"},
    StepRow{kElsewhere, kAny, kAny, Step::kWait, "the other bridge follows it"},
};
// clang-format on

template <class T>
bool fits(const std::optional<T>& column, T value) {
    return !column || *column == value;
}

} // namespace

std::span<const StepRow> step_rows() {
    return kSteps;
}

const StepRow& step_of(Stage stage, DesiredState desired_state, SeenState seen_state) {
    static constexpr StepRow kNothing{kAny, kAny, kAny, Step::kWait, "no row of the table"};
    const auto* found = std::ranges::find_if(kSteps, [&](const StepRow& row) {
        return fits(row.stage, stage) && fits(row.desired_state, desired_state) &&
               fits(row.seen_state, seen_state);
    });
    return found == kSteps.end() ? kNothing : *found;
}

} // namespace cybele::bridge
