// SPDX-License-Identifier: Apache-2.0
#include "submission/local/local_backend.hpp"

#include "submission/journal/array.hpp"
#include "submission/journal/journal.hpp"
#include "submission/local/demand.hpp"
#include "submission/local/dependency.hpp"
#include "submission/local/own_variables.hpp"
#include "submission/local/serve.hpp"
#include "submission/local/start_files.hpp"
#include "submission/records/output_pattern.hpp"
#include "submission/records/process_identity.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <deque>
#include <set>
#include <string_view>
#include <unordered_set>

#include <sys/syscall.h>
#include <unistd.h>

namespace cybele::submission {
namespace {

using Phase = LocalPart::Phase;

constexpr int kQueueLockPatience = 60'000; ///< milliseconds for the queue's lock

std::uint64_t most_of(const std::string& array) {
    const std::size_t percent = array.find('%');
    std::uint64_t most = 0;
    if (percent != std::string::npos) {
        std::from_chars(array.data() + percent + 1, array.data() + array.size(), most);
    }
    return most;
}

/// This machine itself: every job has a process that follows it, and outlives the client.
class LocalBackend : public Backend {
public:
    explicit LocalBackend(const Environment& environment)
        : environment_(environment), scheduler_(Journal::folder(environment), environment) {}

    Receipt submit(const Submission& submission) override {
        std::string id;
        const auto taken = enter(submission, id);
        if (!taken) {
            const Fault& fault = taken.error().faults().front();
            return {taken.error().code() == ErrorCode::kEnvironment ? Receipt::Kind::kUnreachable
                                                                    : Receipt::Kind::kRefused,
                    {},
                    fault.message + (fault.because.empty() ? "" : ": " + fault.because),
                    fault.help};
        }
        return {Receipt::Kind::kAccepted, id, {}};
    }

    /// The queue first, the records after it: a job that ends in between has written its own.
    QueryResult look(const std::vector<JobRef>& jobs, const std::vector<Reading>& files) override {
        QueryResult query_result;
        Unborn unborn;
        const auto turn = take_turn();
        if (!turn) {
            query_result.failure = turn.error();
        } else {
            add_statuses(turn->draft, jobs, query_result, unborn);
        }
        query_result.files.reserve(files.size());
        for (const Reading& reading : files) {
            const std::string_view file = reading.file;
            const std::string_view folder = file.substr(0, file.rfind('/'));
            query_result.files.push_back(unborn.folders.contains(folder) ? ReadBack()
                                                                         : read_piece(reading));
        }
        return query_result;
    }

    QueryResult inquire(const std::vector<JobRef>& jobs) override {
        QueryResult query_result;
        for (const JobRef& job : jobs) {
            const auto parts = parts_of(job);
            if (!parts) {
                query_result.failure = parts.error();
                return query_result;
            }
            const LocalPart* const part = parts->empty() ? nullptr : &parts->front();
            const auto record = read_exit_record(job.record);
            const bool has_ended = part == nullptr || part->phase == Phase::kEnded;
            if (!has_ended || !record || record->has_value()) {
                continue; // it lives, or its record came meanwhile
            }
            JobStatus seen;
            seen.id = job.id;
            seen.state = State::kLost;
            seen.native = "gone";
            seen.reason = "the local scheduler does not know it";
            if (part != nullptr) {
                seen.state = state_of_text(part->outcome).value_or(State::kLost);
                seen.native = part->outcome;
                seen.reason = part->reason;
            }
            query_result.seen.push_back(std::move(seen));
        }
        return query_result;
    }

    Result<std::optional<std::string>> find(const JobRef& job) override {
        if (!Queue::exists(scheduler_.folder())) {
            return std::nullopt;
        }
        CYBELE_TRY(const Queue queue, Queue::open(scheduler_.folder()));
        CYBELE_TRY(const std::optional<LocalSpec> spec, queue.find(job.uuid));
        return spec ? std::optional(std::to_string(spec->number)) : std::nullopt;
    }

    /// Of an array, the elements that wait.
    Result<void> hold(const std::vector<JobRef>& jobs, bool is_held) override {
        std::size_t found = 0;
        CYBELE_CHECK(change([&](LocalDraft& draft) {
            for (std::size_t at = 0; at < draft.state.parts.size(); ++at) {
                LocalPart& part = draft.state.parts[at];
                if (part.phase == Phase::kWaiting && means(jobs, draft.spec_of(part), part)) {
                    part.reason = is_held ? kHeldByUser : "";
                    draft.is_changed[at] = true;
                    ++found;
                }
            }
            return Result<void>();
        }));
        if (found == 0) {
            return fail(
                ErrorCode::kExecution,
                problem("local-hold-nothing",
                        std::string("there is nothing to ") + (is_held ? "hold" : "release")),
                "the job does not wait: it runs, or has ended",
                "see how it is: `cybelectl job status ID`");
        }
        return {};
    }

    Result<void> cancel(const std::vector<JobRef>& jobs) override {
        CYBELE_CHECK(change([this, &jobs](LocalDraft& draft) { return cancel_in(draft, jobs); }));
        return {};
    }

    UniqueFd end_of(const JobRef& job) override {
        for (const LocalPart& part : parts_of(job).value_or(std::vector<LocalPart>())) {
            const auto supervisor = read_process_id(part.supervisor);
            if (part.phase == Phase::kRunning && supervisor && supervisor->is_alive()) {
                // Older kernels have no such descriptors: then the follower looks now and then.
                return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, supervisor->pid, 0)));
            }
        }
        return {};
    }

private:
    static bool
    means(const std::vector<JobRef>& jobs, const LocalSpec& spec, const LocalPart& part) {
        return std::ranges::any_of(jobs, [&](const JobRef& job) {
            return job.uuid == spec.uuid &&
                   (job.id.find('_') == std::string::npos || job.id == part.id());
        });
    }

    /// All of them, or, where one runs on another machine, none.
    [[nodiscard]] Result<void> cancel_in(LocalDraft& draft, const std::vector<JobRef>& jobs) const {
        for (const LocalPart& part : draft.state.parts) {
            const LocalSpec& spec = draft.spec_of(part);
            if (means(jobs, spec, part) && part.phase != Phase::kWaiting &&
                spec.host != scheduler_.machine().host) {
                return fail(ErrorCode::kExecution,
                            problem("local-cancel-elsewhere",
                                    "job " + part.id() + " cannot be cancelled from here"),
                            "it runs on " + spec.host,
                            "cancel it there: `cybelectl job cancel " + part.id() + "`");
            }
        }
        for (std::size_t at = 0; at < draft.state.parts.size(); ++at) {
            const LocalPart& part = draft.state.parts[at];
            if (!means(jobs, draft.spec_of(part), part)) {
                continue;
            }
            if (part.phase == Phase::kWaiting) {
                draft.end(at, "cancelled", "it was cancelled before it began");
            } else if (part.phase == Phase::kRunning) {
                CYBELE_CHECK(end_running(part));
            }
        }
        return {};
    }

    static Result<void> end_running(const LocalPart& part) {
        const auto supervisor = read_process_id(part.supervisor);
        if (supervisor && supervisor->is_alive() && ::kill(supervisor->pid, SIGTERM) != 0 &&
            errno != ESRCH) {
            return fail(system_error("cannot end job " + part.id(), errno));
        }
        return {};
    }

    /// Records that are not there yet; the names of jobs are the draft's.
    struct Unborn {
        std::unordered_set<std::string_view> folders;
        std::deque<std::string> of_elements;
    };

    /// A turn of the scheduler. A process that it forked never comes back from here.
    Result<LocalScheduler::Turn> turn(const LocalScheduler::Change& how, int patience) {
        auto taken = scheduler_.turn(how, patience);
        if (taken) {
            if (const auto& task = taken->task) {
                serve(*task, scheduler_);
            }
        }
        return taken;
    }

    Result<LocalScheduler::Turn> take_turn() {
        if (!Queue::exists(scheduler_.folder())) {
            return LocalScheduler::Turn();
        }
        return turn([](LocalDraft&) { return Result<void>(); }, 0);
    }

    /// A turn that changes the queue; gives what it made of it.
    Result<LocalDraft> change(const LocalScheduler::Change& how) {
        CYBELE_TRY(LocalScheduler::Turn taken, turn(how, kQueueLockPatience));
        if (!taken.was_taken) {
            return fail(ErrorCode::kEnvironment,
                        problem("local-queue-locked", "the local scheduler's queue stays locked"),
                        "another process holds it for a minute",
                        "look for a stopped cybelectl, or try again");
        }
        return std::move(taken.draft);
    }

    Result<void> enter(const Submission& submission, std::string& id) {
        if (submission.job == nullptr) {
            return fail(ErrorCode::kInput,
                        problem("local-script-alone",
                                "the local scheduler accepts Jobs only, not scripts"));
        }
        const launchers::Job& job = *submission.job;
        EnvironmentMap variables = environment_.all();
        variables["PATH"] = submission.search_path;
        if (submission.own) {
            CYBELE_CHECK(set_own_variables(submission, variables));
        }
        LocalSpec spec;
        spec.script = "sha256:" + hex(sha256(submission.script_text));
        spec.uuid = submission.uuid;
        spec.host = scheduler_.machine().host;
        spec.name = submission.name;
        spec.record = submission.record;
        spec.workdir = submission.workdir;
        const auto below_home = [&job](const std::string& pattern) {
            return job.is_of_home(pattern) ? without_percents(job.home) + pattern.substr(1)
                                           : pattern;
        };
        spec.output = below_home(job.output.standard_output);
        spec.errors = below_home(job.output.standard_error);
        spec.most = static_cast<std::int64_t>(most_of(job.array));
        spec.demand = demand_of(job);
        std::vector<LocalCondition> conditions;
        for (const launchers::After& after : job.after) {
            if (const auto known = read_local_id(after.job)) {
                conditions.push_back({after.when, known->first, known->second});
            }
        }
        spec.after = text_of(conditions);
        std::vector<std::int64_t> indices{-1};
        if (!job.array.empty()) {
            const auto listed = array_indices(job.array);
            const std::set<std::int64_t> once(listed.begin(), listed.end());
            indices.assign(once.begin(), once.end());
        }
        CYBELE_CHECK(keep_start(scheduler_.folder(),
                                spec,
                                submission.script_text,
                                variables,
                                submission.own ? &*submission.own : nullptr));
        const auto draft = change([&](LocalDraft& changing) {
            spec.number = changing.last_number + 1;
            changing.add(spec, indices);
            return Result<void>();
        });
        if (!draft) {
            forget_start(scheduler_.folder(), spec);
            return fail(draft.error());
        }
        id = std::to_string(spec.number);
        secure_start(scheduler_.folder(), spec); // while it runs, where it began immediately
        return {};
    }

    static void add_statuses(const LocalDraft& draft,
                             const std::vector<JobRef>& jobs,
                             QueryResult& query_result,
                             Unborn& unborn) {
        std::unordered_set<std::string_view> wanted;
        wanted.reserve(jobs.size());
        unborn.folders.reserve(jobs.size());
        query_result.seen.reserve(jobs.size());
        for (const JobRef& job : jobs) {
            wanted.insert(job.uuid);
        }
        for (std::size_t at = 0; at < draft.state.parts.size(); ++at) {
            const LocalPart& part = draft.state.parts[at];
            const LocalSpec& spec = draft.spec_of(part);
            if (part.phase == Phase::kEnded || !wanted.contains(spec.uuid)) {
                continue;
            }
            JobStatus seen;
            seen.id = part.id();
            seen.uuid = spec.uuid;
            seen.native = "running";
            seen.node = part.phase == Phase::kWaiting ? std::string() : spec.host;
            if (part.phase == Phase::kWaiting) {
                const Decision& decision = draft.waits[at];
                seen.state = decision.reason == kHeldByUser ? State::kHeld : State::kPending;
                seen.native = "pending";
                seen.reason = decision.reason;
                seen.start = decision.expected == 0 ? "" : std::to_string(decision.expected);
                unborn.folders.insert(
                    part.index < 0 ? spec.record
                                   : unborn.of_elements.emplace_back(part.record(spec).native()));
            }
            query_result.seen.push_back(std::move(seen));
        }
    }

    /// The parts that a reference means, of an array all; none: it is not known.
    [[nodiscard]] Result<std::vector<LocalPart>> parts_of(const JobRef& job) const {
        std::vector<LocalPart> meant;
        if (!Queue::exists(scheduler_.folder())) {
            return meant;
        }
        CYBELE_TRY(const Queue queue, Queue::open(scheduler_.folder()));
        CYBELE_TRY(const std::optional<LocalSpec> spec, queue.find(job.uuid));
        if (!spec) {
            return meant;
        }
        const auto id = read_local_id(job.id);
        const std::int64_t index = id ? id->second : -1;
        CYBELE_TRY(meant, queue.parts_of(spec->number));
        std::erase_if(meant,
                      [index](const LocalPart& part) { return index >= 0 && part.index != index; });
        return meant;
    }

    Environment environment_;
    LocalScheduler scheduler_;
};

} // namespace

std::unique_ptr<Backend> local_backend(const Environment& environment) {
    return std::make_unique<LocalBackend>(environment);
}

} // namespace cybele::submission
