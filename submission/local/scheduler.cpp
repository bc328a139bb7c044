// SPDX-License-Identifier: Apache-2.0
#include "submission/local/scheduler.hpp"

#include "submission/local/dependency.hpp"
#include "submission/local/job_group.hpp"
#include "submission/local/start_files.hpp"
#include "submission/local/starters.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <ctime>
#include <unordered_map>

#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;
using Phase = LocalPart::Phase;

void LocalDraft::add(const LocalSpec& spec, const std::vector<std::int64_t>& indices) {
    last_number = spec.number;
    state.specs.emplace(spec.number, spec);
    fresh.push_back(spec);
    for (const std::int64_t index : indices) {
        LocalPart part;
        part.number = spec.number;
        part.index = index;
        state.parts.push_back(part);
        is_changed.push_back(true);
    }
}

void LocalDraft::end(std::size_t at, const std::string& outcome, const std::string& reason) {
    LocalPart& part = state.parts[at];
    part.phase = Phase::kEnded;
    part.outcome = outcome;
    part.reason = reason;
    part.ended = now;
    is_changed[at] = true;
}

namespace {

std::vector<int> allowed_by(const Environment& environment) {
    auto told = parse_cpu_list(environment.get_or(kMachineCpus, ""));
    return told ? std::move(*told) : allowed_cpus();
}

/// What jobs that have ended were started with is of no use any more.
void forget_starts(const fs::path& folder, const LocalDraft& draft) {
    std::map<std::int64_t, bool> is_over;
    for (std::size_t at = 0; at < draft.state.parts.size(); ++at) {
        const LocalPart& part = draft.state.parts[at];
        const auto known = is_over.emplace(part.number, true).first;
        known->second = known->second && part.phase == Phase::kEnded;
    }
    for (const auto& [number, is_ended] : is_over) {
        if (is_ended) {
            forget_start(folder, draft.state.specs.at(number));
        }
    }
}

RunningJob running_job(const LocalDraft& draft, const LocalPart& part) {
    const LocalSpec& spec = draft.spec_of(part);
    RunningJob job;
    job.cpus = parse_cpu_list(part.cpus).value_or(std::vector<int>{});
    job.gpus = parse_cpu_list(part.gpus).value_or(std::vector<int>{});
    job.memory = spec.demand.memory;
    job.end = spec.demand.seconds == 0 ? 0 : part.started + spec.demand.seconds;
    job.array = part.number;
    return job;
}

/// What the conditions of jobs come to, by the parts of the job that is waited for: those in the
/// file, and over them those of the draft. Such a job was submitted before, so its own parts are
/// settled.
class Conditions {
public:
    Conditions(const Queue& queue, const LocalDraft& draft) : queue_(queue), draft_(draft) {}

    /// What comes of a condition: found once, as every part of an array has the same.
    Result<ConditionState> meets(const LocalCondition& condition) {
        const std::string name = text_of(std::vector{condition});
        const auto known = judged_.find(name);
        if (known != judged_.end()) {
            return known->second;
        }
        CYBELE_TRY(const std::vector<LocalPart> others, now(condition.number));
        return judged_.emplace(name, judge(condition, others)).first->second;
    }

private:
    struct Less {
        bool operator()(const LocalPart& part, std::int64_t number) const {
            return part.number < number;
        }
        bool operator()(std::int64_t number, const LocalPart& part) const {
            return number < part.number;
        }
    };

    /// What the draft makes of them.
    [[nodiscard]] Result<std::vector<LocalPart>> now(std::int64_t number) const {
        CYBELE_TRY(std::vector<LocalPart> parts, queue_.parts_of(number));
        std::unordered_map<std::int64_t, std::size_t> places;
        for (std::size_t at = 0; at < parts.size(); ++at) {
            places.emplace(parts[at].index, at);
        }
        const auto [first, last] =
            std::equal_range(draft_.state.parts.begin(), draft_.state.parts.end(), number, Less{});
        for (auto at = first; at != last; ++at) {
            const auto same = places.find(at->index);
            if (same == places.end()) {
                parts.push_back(*at);
            } else {
                parts[same->second] = *at;
            }
        }
        return parts;
    }

    const Queue& queue_;
    const LocalDraft& draft_;
    std::map<std::string, ConditionState> judged_;
};

} // namespace

LocalScheduler::LocalScheduler(fs::path folder, const Environment& environment)
    : folder_(std::move(folder)), allowed_(allowed_by(environment)),
      group_(environment.get_or(kMachineGroup, "")), machine_(read_machine({"/", allowed_})) {}

/// Those whose conditions can never be met end; those that are not met yet are blocked.
Result<void> LocalScheduler::settle(const Queue& queue, LocalDraft& draft) const {
    draft.waits.assign(draft.state.parts.size(), {});
    Conditions conditions(queue, draft);
    for (std::size_t at = 0; at < draft.state.parts.size(); ++at) {
        const LocalPart& part = draft.state.parts[at];
        const LocalSpec& spec = draft.spec_of(part);
        if (part.phase == Phase::kWaiting) {
            draft.waits[at].reason = part.reason;
        }
        if (part.phase != Phase::kWaiting || spec.after.empty()) {
            continue;
        }
        for (const LocalCondition& condition : read_conditions(spec.after)) {
            CYBELE_TRY(const ConditionState met, conditions.meets(condition));
            if (met == ConditionState::kNever) {
                draft.end(at,
                          "cancelled",
                          "DependencyNeverSatisfied: " + text_of(std::vector{condition}));
                break;
            }
            if (met == ConditionState::kNotYet && part.reason.empty()) {
                draft.waits[at].reason = "Dependency";
            }
        }
    }
    return {};
}

/// What starts now; why the rest waits stands in the draft.
std::vector<std::size_t> LocalScheduler::plan(LocalDraft& draft) const {
    std::vector<RunningJob> running;
    std::vector<Waiting> waiting;
    std::vector<std::size_t> places;
    for (std::size_t at = 0; at < draft.state.parts.size(); ++at) {
        const LocalPart& part = draft.state.parts[at];
        const LocalSpec& spec = draft.spec_of(part);
        if (spec.host != machine_.host) {
            continue;
        }
        if (part.phase == Phase::kRunning) {
            running.push_back(running_job(draft, part));
        } else if (part.phase == Phase::kWaiting) {
            waiting.push_back({spec.demand,
                               draft.waits[at].reason,
                               part.number,
                               static_cast<std::uint64_t>(spec.most)});
            places.push_back(at);
        }
    }
    const std::vector<Decision> decisions = decide(machine_, running, waiting, draft.now);
    std::vector<std::size_t> chosen;
    for (std::size_t at = 0; at < decisions.size(); ++at) {
        draft.waits[places[at]] = decisions[at];
        if (decisions[at].is_starting) {
            chosen.push_back(places[at]);
        }
    }
    return chosen;
}

Result<void> LocalScheduler::write(const LocalDraft& draft) const {
    std::vector<LocalPart> parts;
    for (std::size_t at = 0; at < draft.state.parts.size(); ++at) {
        if (draft.is_changed[at]) {
            parts.push_back(draft.state.parts[at]);
        }
    }
    if (parts.empty() && draft.fresh.empty()) {
        return {};
    }
    {
        CYBELE_TRY(const Queue queue, Queue::open(folder_));
        CYBELE_CHECK(queue.put(draft.fresh, parts));
    }
    forget_starts(folder_, draft);
    return {};
}

/// Forks the supervisors, writes them down, lets them begin.
Result<void>
LocalScheduler::start(const std::vector<std::size_t>& chosen, Turn& turn, QueueLock& lock) const {
    LocalDraft& draft = turn.draft;
    CYBELE_TRY(const Starters starters, Starters::fork(chosen.size(), group_));
    for (std::size_t at = 0; at < chosen.size(); ++at) {
        LocalPart& part = draft.state.parts[chosen[at]];
        const Decision& decision = draft.waits[chosen[at]];
        part.phase = Phase::kRunning;
        part.cpus = cpu_list(decision.cpus);
        part.gpus = cpu_list(decision.gpus);
        part.started = draft.now;
        part.reason.clear();
        draft.is_changed[chosen[at]] = true;
        if (starters.child() == at) {
            lock.abandon();
            turn.task = SupervisorTask{draft.spec_of(part), part};
            if (!starters.may_begin()) {
                ::_exit(0);
            }
            return {};
        }
        if (!starters.child()) {
            part.supervisor = text_of(starters.ids()[at]);
        }
    }
    CYBELE_CHECK(write(draft));
    starters.go();
    return {};
}

Result<LocalScheduler::Turn> LocalScheduler::turn(const Change& change,
                                                  int patience_milliseconds,
                                                  std::optional<QueueLock> place) const {
    CYBELE_CHECK(make_directories(folder_, 0700));
    CYBELE_TRY(std::optional<QueueLock> lock, QueueLock::take(folder_, patience_milliseconds));
    place.reset();
    Turn turn;
    LocalDraft& draft = turn.draft;
    turn.was_taken = lock.has_value();
    std::vector<std::size_t> chosen;
    {
        CYBELE_TRY(const Queue queue, Queue::open(folder_));
        CYBELE_TRY(draft.state, queue.active());
        CYBELE_TRY(draft.last_number, queue.last_number());
        draft.is_changed.assign(draft.state.parts.size(), false);
        draft.now = std::time(nullptr);
        if (lock) {
            recover(draft, machine_.host);
            CYBELE_CHECK(change(draft));
        }
        CYBELE_CHECK(settle(queue, draft));
        chosen = plan(draft);
    }
    if (!lock) {
        return turn;
    }
    if (chosen.empty()) {
        CYBELE_CHECK(write(draft));
        return turn;
    }
    CYBELE_CHECK(start(chosen, turn, *lock));
    return turn;
}

} // namespace cybele::submission
