// SPDX-License-Identifier: Apache-2.0
#include "submission/journal/state.hpp"

#include <algorithm>

namespace cybele::submission {
namespace {

struct Name {
    State state;
    std::string_view text;
    bool is_over;
};
constexpr Name kNames[] = {
    {State::kSubmitting, "submitting", false},
    {State::kPending, "pending", false},
    {State::kHeld, "held", false},
    {State::kStarting, "starting", false},
    {State::kRunning, "running", false},
    {State::kSuspended, "suspended", false},
    {State::kDone, "done", true},
    {State::kFailed, "failed", true},
    {State::kTimeout, "timeout", true},
    {State::kCancelled, "cancelled", true},
    {State::kPreempted, "preempted", true},
    {State::kLost, "lost", true},
    {State::kNotSubmitted, "not-submitted", true},
};

const Name& row_of(State state) {
    return *std::ranges::find(kNames, state, &Name::state);
}

struct SlurmWord {
    std::string_view word;
    std::string_view letters;
    State state;
};
constexpr SlurmWord kSlurmWords[] = {
    {"PENDING", "PD", State::kPending},       {"REQUEUED", "RQ", State::kPending},
    {"REQUEUE_FED", "RF", State::kPending},   {"RESV_DEL_HOLD", "RD", State::kPending},
    {"SPECIAL_EXIT", "SE", State::kPending},  {"REQUEUE_HOLD", "RH", State::kHeld},
    {"CONFIGURING", "CF", State::kStarting},  {"RUNNING", "R", State::kRunning},
    {"COMPLETING", "CG", State::kRunning},    {"SIGNALING", "SI", State::kRunning},
    {"STAGE_OUT", "SO", State::kRunning},     {"RESIZING", "RS", State::kRunning},
    {"SUSPENDED", "S", State::kSuspended},    {"STOPPED", "ST", State::kSuspended},
    {"COMPLETED", "CD", State::kDone},        {"FAILED", "F", State::kFailed},
    {"OUT_OF_MEMORY", "OOM", State::kFailed}, {"BOOT_FAIL", "BF", State::kFailed},
    {"NODE_FAIL", "NF", State::kFailed},      {"LAUNCH_FAILED", "LF", State::kFailed},
    {"DEADLINE", "DL", State::kFailed},       {"TIMEOUT", "TO", State::kTimeout},
    {"CANCELLED", "CA", State::kCancelled},   {"REVOKED", "RV", State::kCancelled},
    {"PREEMPTED", "PR", State::kPreempted},
};

struct PbsLetter {
    char letter;
    State state;
};
constexpr PbsLetter kPbsLetters[] = {
    {'Q', State::kPending},
    {'W', State::kPending},
    {'T', State::kPending},
    {'M', State::kPending},
    {'H', State::kHeld},
    {'B', State::kRunning},
    {'R', State::kRunning},
    {'E', State::kRunning},
    {'S', State::kSuspended},
    {'U', State::kSuspended},
};

constexpr int kTorqueWalltime = -11;
constexpr int kOpenpbsWalltime = -29;
constexpr int kSignalBase = 256;
constexpr int kTerminationSignal = 15;

} // namespace

std::string_view state_text(State state) {
    return row_of(state).text;
}

std::optional<State> state_of_text(std::string_view text) {
    for (const Name& name : kNames) {
        if (name.text == text) {
            return name.state;
        }
    }
    return std::nullopt;
}

bool is_over(State state) {
    return row_of(state).is_over;
}

std::optional<State> state_of_slurm(std::string_view word) {
    const std::string_view bare = word.substr(0, word.find_first_of(" +"));
    for (const SlurmWord& known : kSlurmWords) {
        if (bare == known.word || bare == known.letters) {
            return known.state;
        }
    }
    return std::nullopt;
}

std::optional<State> state_of_pbs(char letter) {
    for (const PbsLetter& known : kPbsLetters) {
        if (known.letter == letter) {
            return known.state;
        }
    }
    return std::nullopt;
}

PbsEnd end_of_pbs(std::optional<int> status) {
    if (!status) {
        return {State::kCancelled, std::nullopt, 0};
    }
    if (*status == 0) {
        return {State::kDone, 0, 0};
    }
    if (*status == kTorqueWalltime || *status == kOpenpbsWalltime) {
        return {State::kTimeout, std::nullopt, 0};
    }
    if (*status == kSignalBase + kTerminationSignal) {
        return {State::kCancelled, std::nullopt, kTerminationSignal};
    }
    if (*status > kSignalBase) {
        return {State::kFailed, std::nullopt, *status - kSignalBase};
    }
    if (*status < 0) {
        return {State::kFailed, std::nullopt, 0};
    }
    return {State::kFailed, *status, 0};
}

} // namespace cybele::submission
