// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/slurmrest_shapes.hpp"

#include "submission/backends/command_backend.hpp"
#include "submission/journal/array.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace cybele::submission::slurmrest {
namespace {

using Json = nlohmann::json;
constexpr std::string_view kMark = "cybelectl:"; ///< in front of the UUID in a job's comment

const Json& member(const Json& map, const char* name) {
    static const Json nothing;
    const auto found = map.is_object() ? map.find(name) : map.end();
    return map.is_object() && found != map.end() ? *found : nothing;
}

constexpr std::int64_t kMost =
    std::numeric_limits<std::uint32_t>::max();    ///< Slurm's counts and ids
constexpr std::int64_t kLatest = 253'402'300'799; ///< the year 9999
constexpr std::int64_t kMostCode = 255;
constexpr std::int64_t kMostSignal = 64;
constexpr std::int64_t kMostWaitStatus = 0xffff;

/// A whole number in either form; one that is not set, or infinite, is none.
std::optional<std::int64_t> integer_in(const Json& value) {
    const bool is_plain = value.is_number();
    const Json& number = is_plain ? value : member(value, "number");
    const bool is_set =
        is_plain || (member(value, "set") == true && member(value, "infinite") != true);
    const bool fits = number.is_number_integer() &&
                      !(number.is_number_unsigned() &&
                        number.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max());
    return is_set && fits ? std::optional(number.get<std::int64_t>()) : std::nullopt;
}

/// The same, from 0 to `most`; another one is none, for a conversion would make a wrong one of it.
std::optional<std::int64_t> number_in(const Json& value, std::int64_t most = kMost) {
    const auto number = integer_in(value);
    return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

/// A word, or the first of a list of words.
std::string word_in(const Json& value) {
    const Json& word = value.is_array() && !value.empty() ? value.front() : value;
    return word.is_string() ? word.get<std::string>() : std::string();
}

/// The end: a raw wait status, or a map of the code and the signal.
void read_exit(const Json& exit, JobStatus& into) {
    if (!is_over(into.state)) {
        return;
    }
    std::optional<int> code;
    if (const auto raw = exit.is_object() && !exit.contains("number")
                             ? std::nullopt
                             : number_in(exit, kMostWaitStatus)) {
        const int status = static_cast<int>(*raw);
        into.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        code = WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
    } else {
        const auto told = number_in(member(exit, "return_code"), kMostCode);
        code = told ? std::optional(static_cast<int>(*told)) : std::nullopt;
        const Json& signal = member(exit, "signal");
        const auto number =
            number_in(signal.contains("id") ? member(signal, "id") : member(signal, "signal_id"),
                      kMostSignal);
        into.signal = static_cast<int>(number.value_or(0));
    }
    // Killed from outside, a job has no code of its own.
    if (into.signal == 0 && (into.state == State::kDone || into.state == State::kFailed)) {
        into.code = code;
    }
}

JobStatus read_job(const Json& job) {
    JobStatus seen;
    seen.native = word_in(member(job, "job_state"));
    seen.state = state_of_slurm(seen.native).value_or(State::kRunning);
    seen.reason = word_in(member(job, "state_reason"));
    if (seen.reason == "None") {
        seen.reason.clear();
    }
    if (seen.state == State::kPending) {
        if (seen.reason.starts_with("JobHeld")) {
            seen.state = State::kHeld;
        }
        const auto start = number_in(member(job, "start_time"), kLatest);
        seen.start = start.value_or(0) > 0 ? std::to_string(start.value_or(0)) : "";
    }
    seen.node = word_in(member(job, "nodes"));
    const std::string comment = word_in(member(job, "comment"));
    if (comment.starts_with(kMark)) {
        seen.uuid = comment.substr(kMark.size());
    }
    read_exit(member(job, "exit_code"), seen);
    seen.owner = word_in(member(job, "user_name"));
    seen.restarts = static_cast<int>(number_in(member(job, "restart_cnt"), kMost / 2).value_or(0));
    seen.is_held_by_admin = seen.reason == "JobHeldAdmin";
    const bool has_begun = seen.state != State::kPending && seen.state != State::kHeld;
    seen.began = has_begun ? number_in(member(job, "start_time"), kLatest).value_or(0) : 0;
    seen.ended = is_over(seen.state) ? number_in(member(job, "end_time"), kLatest).value_or(0) : 0;
    return seen;
}

} // namespace

Result<Version> choose_version(std::string_view openapi) {
    const Json document = parse_json<Json>(openapi);
    constexpr std::string_view kPath = "/slurm/v0.0.";
    Version best = 0;
    for (const auto& [path, ignored] : member(document, "paths").items()) {
        if (!path.starts_with(kPath)) {
            continue;
        }
        const std::string_view rest = std::string_view(path).substr(kPath.size());
        const Version version = text::number(rest.substr(0, rest.find('/'))).value_or(0);
        if (version >= kOldest && version <= kNewest) {
            best = std::max(best, version);
        }
    }
    if (best == 0) {
        return fail(
            ErrorCode::kEnvironment,
            problem("slurmrestd-version", "the service has no version that this cybelectl knows"),
            "it knows v0.0." + std::to_string(kOldest) + " to v0.0." + std::to_string(kNewest) +
                " of slurmrestd",
            "reach the scheduler by ssh (`through: {ssh: HOST}`), or use another cybelectl");
    }
    return best;
}

std::optional<SlurmError> first_error(const Json& answer) {
    const Json& errors = member(answer, "errors");
    if (!errors.is_array() || errors.empty()) {
        return std::nullopt;
    }
    const Json& first = errors.front();
    SlurmError error;
    // Slurm 22.05 calls it one way of a job and another of a submission.
    const auto number = integer_in(member(first, "error_number"));
    const std::int64_t told =
        number ? *number : integer_in(member(first, "error_code")).value_or(0);
    error.number = static_cast<int>(std::clamp<std::int64_t>(told, -1, kMost / 2));
    error.text = word_in(member(first, "error"));
    if (const std::string more = word_in(member(first, "description")); !more.empty()) {
        error.text += (error.text.empty() ? "" : ": ") + more;
    }
    return error;
}

Receipt read_receipt(int status, std::string_view body) {
    constexpr int kGood = 200;
    // Slurm's own numbers of refusals (slurm/slurm_errno.h) begin here; below are its errors of
    // messages and connections, behind which the job may have been taken.
    constexpr int kFirstRefusal = 2000;
    constexpr int kBadRequest = 400;
    constexpr int kServer = 500;
    const Json answer = parse_json<Json>(body);
    const auto error = first_error(answer);
    const auto id = number_in(member(answer, "job_id"));
    if (status == kGood && id.value_or(0) > 0) {
        return {Receipt::Kind::kAccepted, std::to_string(id.value_or(0)), error ? error->text : ""};
    }
    const std::string words = "HTTP " + std::to_string(status) + (error ? ": " + error->text : "");
    // What is wrong with the request is told before Slurm is asked.
    const bool is_refused =
        error && (error->number >= kFirstRefusal || (status >= kBadRequest && status < kServer));
    return {is_refused ? Receipt::Kind::kRefused : Receipt::Kind::kUnclear, {}, words};
}

std::vector<JobStatus> read_jobs(const Json& answer) {
    std::vector<JobStatus> all;
    for (const Json& job : member(answer, "jobs")) {
        JobStatus seen = read_job(job);
        const auto id = number_in(member(job, "job_id"));
        const auto array = number_in(member(job, "array_job_id"));
        const auto element = number_in(member(job, "array_task_id"));
        const std::string waiting = word_in(member(job, "array_task_string"));
        if (!id) {
            continue;
        }
        if (array.value_or(0) == 0) {
            seen.id = std::to_string(*id);
            all.push_back(std::move(seen));
        } else if (element) {
            seen.id =
                element_id(std::to_string(array.value_or(0)), static_cast<std::uint32_t>(*element));
            all.push_back(std::move(seen));
        } else {
            for (const std::uint32_t index : array_indices(waiting)) {
                seen.id = element_id(std::to_string(array.value_or(0)), index);
                all.push_back(seen);
            }
        }
    }
    return all;
}

std::int64_t newest_moment(const Json& answer) {
    if (const auto told = number_in(member(answer, "last_update"), kLatest); told.value_or(0) > 0) {
        return told.value_or(0);
    }
    std::int64_t newest = 0;
    for (const Json& job : member(answer, "jobs")) {
        const State state =
            state_of_slurm(word_in(member(job, "job_state"))).value_or(State::kRunning);
        const auto take = [&](const char* name, bool is_past) {
            newest =
                std::max(newest, is_past ? number_in(member(job, name), kLatest).value_or(0) : 0);
        };
        take("submit_time", true);
        take("last_sched_evaluation", true);
        take("start_time", state != State::kPending && state != State::kHeld);
        take("end_time", is_over(state));
    }
    return newest;
}

} // namespace cybele::submission::slurmrest
