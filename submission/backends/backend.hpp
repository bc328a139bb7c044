// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "submission/backends/host.hpp"
#include "submission/journal/state.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::submission {

/// What a batch script of the user's own needs in addition to its text (own_script.hpp).
struct OwnScript {
    std::string name;               ///< of its file: what a batch system calls the job by default
    std::string reader;             ///< whose directives it contains: slurm, torque, pbspro, none
    std::vector<std::string> shell; ///< the interpreter of its first line, and its option
    std::vector<std::string> arguments;
    std::string variables; ///< the list of PBS's `-v` in it
};

/// A job that is handed to a scheduler; its record folder and script are there.
struct Submission {
    const launchers::Job* job = nullptr; ///< as long as the submission lasts
    std::string uuid;
    std::string name;
    std::filesystem::path script;
    std::filesystem::path folder; ///< where the command is called: the directory of submission
    std::filesystem::path workdir;
    std::filesystem::path record;
    std::filesystem::path standard_output;
    std::filesystem::path standard_error;
    std::optional<std::chrono::seconds> time;
    std::string search_path; ///< PATH of the job
    std::vector<std::string> unset;
    std::vector<NewFile> files;   ///< of the record, where that is on another machine
    std::string script_text;      ///< what `script` holds
    std::optional<OwnScript> own; ///< set: `script` is the user's, as it is
    bool is_held = false;         ///< it waits until it is released
    std::string queue = {};       ///< of a service, where the script names none
};

/// What came back from a submission.
struct Receipt {
    enum class Kind {
        kAccepted,
        kRefused,     ///< clearly: nothing was submitted
        kUnreachable, ///< the scheduler did not answer at all: nothing was submitted
        kUnclear,     ///< it may have been submitted
    };
    Kind kind = Kind::kUnclear;
    std::string id;        ///< native
    std::string words;     ///< the scheduler's own
    std::string help = {}; ///< what can be done, where who asked knows it
};

/// A job as the follower knows it.
struct JobRef {
    std::string id;
    std::string uuid;
    std::string record;
    std::string folder = {}; ///< of submission; empty: not known
    std::string name = {};   ///< of the job; empty: not known
    std::string array = {};  ///< its indices, as a Job writes them; empty: not an array
};

/// What a scheduler says of a job.
struct JobStatus {
    std::string id; ///< of an array's element: `12_3`, `12[3].server`
    State state = State::kRunning;
    std::string native; ///< its own word
    std::string reason; ///< why it waits, or how it ended
    std::optional<int> code;
    int signal = 0;
    std::string uuid;              ///< where the scheduler shows it
    std::string node = {};         ///< where it runs or ran, several with commas; empty: not known
    std::string start;             ///< estimated, Unix seconds; empty: not known
    bool is_unknown = false;       ///< the scheduler answered that it knows no job with this id
    bool is_held_by_admin = false; ///< its owner cannot release it
    std::int64_t began = 0;        ///< its last start by the scheduler's clock, 0: not known
    // Of look_at_all() and inquire() only; times are the scheduler's, Unix seconds, 0: not known.
    std::string owner = {}; ///< empty: not known
    int restarts = 0;       ///< how often it was requeued, where the scheduler counts that
    std::int64_t ended = 0;
};

/// What the accounting says that a job used; unset: nobody measured it.
struct AccountedUse {
    std::string id;
    std::int64_t seconds = 0; ///< wall time
    std::int64_t cores = 0;   ///< that it was given; 0: not known
    std::optional<std::int64_t> cpu_milliseconds;
    std::optional<std::uint64_t> memory_bytes;       ///< the most at once, of all nodes
    std::optional<std::uint64_t> memory_asked_bytes; ///< of all nodes
};

struct QueryResult {
    std::vector<JobStatus> seen;  ///< jobs that are listed; one that is not is not here
    std::vector<ReadBack> files;  ///< as asked
    std::optional<Error> failure; ///< the query failed: `seen` is no answer
};

/// A scheduler. Jobs in `look` and `inquire` are asked for with one query, however many.
class Backend {
public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    /// Hands the job over, once.
    [[nodiscard]] virtual Receipt submit(const Submission& submission) = 0;
    /// The queue's word on the jobs, and pieces of files of that machine, in one round trip.
    [[nodiscard]] virtual QueryResult look(const std::vector<JobRef>& jobs,
                                           const std::vector<Reading>& files) = 0;
    /// The queue's word on the jobs of all users, each with its owner and its UUID. A way that
    /// cannot list them is a failure.
    [[nodiscard]] virtual QueryResult look_at_all();
    /// The second witness, for jobs that ended or left the queue without an exit record: the
    /// accounting, and what the scheduler wrote to a job that it ended.
    [[nodiscard]] virtual QueryResult inquire(const std::vector<JobRef>& jobs) = 0;
    /// The native id of the job with this UUID; unset: the scheduler knows none.
    [[nodiscard]] virtual Result<std::optional<std::string>> find(const JobRef& job) = 0;
    /// Asks for the end of jobs; what becomes of it, look() says.
    [[nodiscard]] virtual Result<void> cancel(const std::vector<JobRef>& jobs) = 0;
    /// Keeps jobs that wait from starting, or lets them start again. A way that cannot say so to
    /// its scheduler is kEnvironment.
    [[nodiscard]] virtual Result<void> hold(const std::vector<JobRef>& jobs, bool is_held);
    /// Lets many jobs go that were submitted held. One that is unknown does not stop the others;
    /// what became of each, the queue shows.
    [[nodiscard]] virtual Result<void> release(const std::vector<std::string>& ids);
    /// What jobs that ended used, where the scheduler keeps accounts; none: it does not.
    [[nodiscard]] virtual Result<std::vector<AccountedUse>> spent(const std::vector<JobRef>& jobs);
    /// Pieces of files of the scheduler's machine.
    [[nodiscard]] virtual Result<std::vector<ReadBack>> read(const std::vector<Reading>& files);
    /// A descriptor that becomes readable when the job ends, of an array an element that runs;
    /// invalid: the scheduler has none.
    [[nodiscard]] virtual UniqueFd end_of(const JobRef& job);
};

/// The commands of a batch system: what is called, and what its answers mean.
class Commands {
public:
    Commands() = default;
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;
    virtual ~Commands() = default;

    [[nodiscard]] virtual Call submission(const Submission& submission) const = 0;
    [[nodiscard]] virtual Receipt receipt(const Outcome& outcome) const = 0;
    [[nodiscard]] virtual std::vector<Call> query(const std::vector<std::string>& ids) const = 0;
    [[nodiscard]] virtual Result<std::vector<JobStatus>>
    statuses(const std::vector<Outcome>& outcomes) const = 0;
    [[nodiscard]] virtual std::vector<Call> inquiry(const std::vector<std::string>& ids) const = 0;
    [[nodiscard]] virtual std::vector<JobStatus>
    findings(const std::vector<Outcome>& outcomes) const = 0;
    /// The call that tells what jobs used, and what it told; unset: there is none.
    [[nodiscard]] virtual std::optional<Call>
    accounts(const std::vector<std::string>& /*ids*/) const {
        return std::nullopt;
    }
    [[nodiscard]] virtual std::vector<AccountedUse> spent(const Outcome& /*outcome*/) const {
        return {};
    }
    /// The file in the folder of submission to which the scheduler adds why it ended a job, and
    /// what such words say; empty, and none: it writes no such file, or ended nothing.
    [[nodiscard]] virtual std::string words_file(const JobRef& /*job*/) const {
        return {};
    }
    [[nodiscard]] virtual std::optional<JobStatus> end_in_words(std::string_view /*words*/) const {
        return std::nullopt;
    }
    /// What is asked in the place of `calls`, which the scheduler did not answer; none: it did.
    [[nodiscard]] virtual std::vector<Call>
    instead_of(const std::vector<Call>& /*calls*/, const std::vector<Outcome>& /*outcomes*/) const {
        return {};
    }
    /// Lists every job of this user, each with its UUID.
    [[nodiscard]] virtual Call search() const = 0;
    [[nodiscard]] virtual std::vector<Call>
    cancellation(const std::vector<std::string>& ids) const = 0;
    /// A call for each job, which is to be held, or let go again.
    [[nodiscard]] virtual std::vector<Call> holding(const std::vector<std::string>& ids,
                                                    bool is_held) const = 0;
    /// Lists the jobs of all users, and what the answers mean.
    [[nodiscard]] virtual std::vector<Call> query_all() const {
        return {search()};
    }
    [[nodiscard]] virtual Result<std::vector<JobStatus>>
    all_statuses(const std::vector<Outcome>& outcomes) const {
        return statuses(outcomes);
    }
    /// Calls that let many jobs go, of which some may be unknown.
    [[nodiscard]] virtual std::vector<Call> releasing(const std::vector<std::string>& ids) const {
        return holding(ids, false);
    }
    /// Whether a refusal to cancel means that the job has ended.
    [[nodiscard]] virtual bool is_over_already(const Outcome& outcome) const = 0;
};

/// One back end a file; the table of connection/make_backend.cpp names them.
[[nodiscard]] std::unique_ptr<Commands> slurm_commands();
[[nodiscard]] std::unique_ptr<Commands> torque_commands();
[[nodiscard]] std::unique_ptr<Commands> slurm_torque_commands();
[[nodiscard]] std::unique_ptr<Commands> pbspro_commands();

} // namespace cybele::submission
