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
    StepRow{kNew, Wish::kKeep, kAny, Step::kAdmit, "the object asks for a job"},
    StepRow{kNew, kAny, kAny, Step::kForget, "nothing was claimed, so nothing was handed over"},

    // Claimed: a job may have been handed over whose id is not known.
    StepRow{kClaimed, kAny, Sight::kSilent, Step::kUnreachable, "a failed query is not an answer"},
    StepRow{kClaimed, Wish::kKeep, Sight::kUnsearched, Step::kSearch, "always before a hand-over"},
    StepRow{kClaimed, Wish::kKeep, Sight::kUnproven, Step::kSearch, "a late job may still appear"},
    StepRow{kClaimed, Wish::kKeep, Sight::kAbsent, Step::kSubmit, "nothing was handed over"},
    StepRow{kClaimed, Wish::kKeep, Sight::kExhausted, Step::kGiveUp, "no further attempt is left"},
    StepRow{kClaimed, Wish::kKeep, Sight::kRefused, Step::kGiveUp, "clear words are final"},
    StepRow{kClaimed, Wish::kKeep, kAny, Step::kRecordId, "a job was found: it is the one"},
    StepRow{kClaimed, kAny, Sight::kUnsearched, Step::kClose, "a hand-over may be under way elsewhere"},
    StepRow{kClaimed, kAny, Sight::kUnproven, Step::kClose, "a late job may still appear"},
    StepRow{kClaimed, kAny, Sight::kAbsent, Step::kLetGo, "nothing was handed over"},
    StepRow{kClaimed, kAny, Sight::kExhausted, Step::kLetGo, "nothing was handed over"},
    StepRow{kClaimed, kAny, Sight::kRefused, Step::kLetGo, "nothing was handed over"},
    StepRow{kClaimed, kAny, Sight::kEnded, Step::kLetGo, "it has ended"},
    StepRow{kClaimed, kAny, Sight::kUnclear, Step::kLetGo, "it has ended"},
    StepRow{kClaimed, kAny, Sight::kLost, Step::kLetGo, "it is gone from the batch system"},
    StepRow{kClaimed, kAny, kAny, Step::kCancel, "it was never released"},

    // The id stands in the object, and the job may still be held.
    StepRow{kPrepared, Wish::kKeep, Sight::kSilent, Step::kWait, "a failed query is not an answer"},
    StepRow{kPrepared, Wish::kKeep, Sight::kHeld, Step::kRelease, "this id alone is ever released"},
    StepRow{kPrepared, Wish::kOrphan, Sight::kSilent, Step::kUnreachable, "it may be held for ever"},
    StepRow{kPrepared, Wish::kOrphan, Sight::kHeld, Step::kRelease, "else it is held for ever"},
    StepRow{kPrepared, Wish::kOrphan, Sight::kUnsearched, Step::kInquire, "it may be held for ever"},
    StepRow{kPrepared, Wish::kOrphan, Sight::kUnproven, Step::kInquire, "it may be held for ever"},

    // Both, from here on: what is kept is followed.
    StepRow{kAny, Wish::kGone, Sight::kSilent, Step::kWait, "a failed query is not an answer"},
    StepRow{kPrepared, Wish::kKeep, Sight::kUnsearched, Step::kInquire, "not listed is not a state"},
    StepRow{kPrepared, Wish::kKeep, Sight::kUnproven, Step::kInquire, "not listed is not a state"},
    StepRow{kPrepared, Wish::kKeep, Sight::kDying, Step::kWait, "a requeue may follow"},
    StepRow{kPrepared, Wish::kKeep, Sight::kUnclear, Step::kInquire, "the queue does not say how"},
    StepRow{kPrepared, Wish::kKeep, Sight::kEnded, Step::kConclude, "the end is known"},
    StepRow{kPrepared, Wish::kKeep, Sight::kLost, Step::kConclude, "its end is not known"},
    StepRow{kPrepared, Wish::kKeep, kAny, Step::kFollow, "it lives"},
    StepRow{kLive, Wish::kKeep, Sight::kSilent, Step::kWait, "a failed query is not an answer"},
    StepRow{kLive, Wish::kKeep, Sight::kUnsearched, Step::kInquire, "not listed is not a state"},
    StepRow{kLive, Wish::kKeep, Sight::kUnproven, Step::kInquire, "not listed is not a state"},
    StepRow{kLive, Wish::kKeep, Sight::kDying, Step::kWait, "a requeue may follow"},
    StepRow{kLive, Wish::kKeep, Sight::kUnclear, Step::kInquire, "the queue does not say how"},
    StepRow{kLive, Wish::kKeep, Sight::kEnded, Step::kConclude, "the end is known"},
    StepRow{kLive, Wish::kKeep, Sight::kLost, Step::kConclude, "its end is not known"},
    StepRow{kLive, Wish::kKeep, kAny, Step::kFollow, "it lives"},

    // Deleted while the job lives.
    StepRow{kPrepared, Wish::kOrphan, kAny, Step::kLetGo, "the job runs on without the object"},
    StepRow{kLive, Wish::kOrphan, kAny, Step::kLetGo, "the job runs on without the object"},
    StepRow{kPrepared, kAny, Sight::kSilent, Step::kUnreachable, "its end cannot be proven now"},
    StepRow{kLive, kAny, Sight::kSilent, Step::kUnreachable, "its end cannot be proven now"},
    StepRow{kPrepared, kAny, Sight::kUnsearched, Step::kInquire, "not listed is not a proof"},
    StepRow{kLive, kAny, Sight::kUnsearched, Step::kInquire, "not listed is not a proof"},
    StepRow{kPrepared, kAny, Sight::kUnproven, Step::kInquire, "not listed is not a proof"},
    StepRow{kLive, kAny, Sight::kUnproven, Step::kInquire, "not listed is not a proof"},
    StepRow{kPrepared, kAny, Sight::kEnded, Step::kLetGo, "the batch system shows its end"},
    StepRow{kLive, kAny, Sight::kEnded, Step::kLetGo, "the batch system shows its end"},
    StepRow{kPrepared, kAny, Sight::kUnclear, Step::kLetGo, "the batch system shows its end"},
    StepRow{kLive, kAny, Sight::kUnclear, Step::kLetGo, "the batch system shows its end"},
    StepRow{kPrepared, kAny, Sight::kLost, Step::kLetGo, "it is gone from the batch system"},
    StepRow{kLive, kAny, Sight::kLost, Step::kLetGo, "it is gone from the batch system"},
    StepRow{kPrepared, kAny, kAny, Step::kCancel, "until the batch system shows its end"},
    StepRow{kLive, kAny, kAny, Step::kCancel, "until the batch system shows its end"},

    // Ended.
    StepRow{kOver, Wish::kGone, kAny, Step::kForget, "it has ended"},
    StepRow{kOver, kAny, kAny, Step::kCollect, "results first, then the finalizer"},
    StepRow{kDone, Wish::kKeep, kAny, Step::kExpire, "until its time is over"},
    StepRow{kDone, kAny, kAny, Step::kForget, "it has ended"},

    // Two bridges with different clusters serve the namespace.
    StepRow{kElsewhere, Wish::kGone, kAny, Step::kForget, "its job is not here"},
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

const StepRow& step_of(Stage stage, Wish wish, Sight sight) {
    static constexpr StepRow kNothing{kAny, kAny, kAny, Step::kWait, "no row of the table"};
    const auto* found = std::ranges::find_if(kSteps, [&](const StepRow& row) {
        return fits(row.stage, stage) && fits(row.wish, wish) && fits(row.sight, sight);
    });
    return found == kSteps.end() ? kNothing : *found;
}

} // namespace cybele::bridge
