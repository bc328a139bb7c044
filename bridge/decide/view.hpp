// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/account_failure.hpp"
#include "bridge/objects/object.hpp"
#include "submission/journal/state.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cybele::bridge {

/// A job as the queue, the accounting or its own record shows it. Times are Unix seconds of the
/// batch system, 0: not known.
struct SeenJob {
    std::string id;
    std::string owner;
    std::string token; ///< of its comment or its variables; empty: none
    submission::State state = submission::State::kRunning;
    std::string native; ///< the batch system's own word
    std::string reason;
    std::optional<int> code;
    int signal = 0;
    int restarts = 0; ///< how often it was requeued
    std::int64_t started = 0;
    std::int64_t ended = 0;
};

/// What the queue showed of the jobs that concern one object.
struct QueueObservation {
    bool is_complete = false;  ///< the query succeeded, and its answer was not cut
    std::vector<SeenJob> jobs; ///< with the object's uid as token, or with the id of its status
};

/// What the object's record folder on the cluster showed.
struct RecordObservation {
    bool was_read = false;
    bool is_closed = false;         ///< nothing can be handed over through it any more
    int claims = 0;                 ///< hand-overs that were begun
    bool is_submitter_gone = false; ///< of the last claim: its process has ended
    std::int64_t claim_age = 0;     ///< seconds of the last claim by the cluster's own clock
    std::string answer;             ///< `released`, else an id that the batch system gave
    std::string refusal;            ///< the words with which the batch system refused the job
    std::optional<SeenJob> end;     ///< of a script that this program rendered: its own word
    std::string unreachable =
        {};                    ///< why the batch system could not be asked: nothing was submitted
    std::string failure = {};  ///< why the account's folder could not be used; it was not read
    std::string released = {}; ///< the id of the only job that is ever let go
    std::string remark = {};   ///< what the batch system said in addition to the id
};

/// What the accounting said of the job of the object's status.
struct AccountingObservation {
    bool was_asked = false;
    std::optional<SeenJob> job;
};

/// Where a job that has ended wrote its output, and the last of it.
struct OutputObservation {
    bool was_asked = false;
    Streams paths;
    Streams tail;
};

/// All that is known of one object's job at one moment.
struct View {
    std::string account; ///< as which the job is, or would be, submitted; empty: not known
    bool has_way = true; ///< the Bridge has a row with the account for the object's namespace
    AccountFailure account_failure = {}; ///< of commands as the account
    std::optional<Refusal> refusal;      ///< of the namespace's row and the queue's limits
    QueueObservation queue;
    RecordObservation record;
    AccountingObservation accounted;
    OutputObservation output;
};

/// What the bridge remembers of an object between two rounds. Losing it costs time only.
struct Memory {
    int absences = 0;               ///< complete answers in a row that showed no such job
    std::int64_t missing_since = 0; ///< when the first of them came
    std::int64_t dying_since = 0;   ///< when the queue first showed an end that may be none
    int dying_restarts = 0;         ///< the count of requeues that it showed then
    std::int64_t cancel_asked = 0;  ///< when the batch system was last asked to end the job
    std::int64_t silent_since = 0;  ///< when the batch system last stopped answering
    std::int64_t collect_since = 0; ///< when the results were first asked for
    std::int64_t collect_try = 0;   ///< when they were last begun to be copied
    bool is_collecting = false;     ///< that copy has not ended
    bool was_claimed = false;       ///< our finalizer was seen
    bool has_told_twin = false;     ///< that a second job, which is not held, has the object's uid
    bool has_told_failure = false;  ///< that the hand-over waits for the account's folder
};

/// The times of the protocol in seconds; tests scale them together.
struct Times {
    std::int64_t claim = 60;          ///< age of a claim before its job counts as never submitted
    std::int64_t vanished = 300;      ///< how long a job that nothing shows is waited for
    std::int64_t dying = 30;          ///< how long an end that a requeue may follow must last
    std::int64_t cancel_again = 30;   ///< between two requests to end the same job
    std::int64_t collect = 600;       ///< the longest that results delay a deletion
    std::int64_t collect_again = 600; ///< between two copies of results, where one failed
    int collect_repeats = 5;
    std::int64_t keep_records = 2592000;
    int attempts = 3;
};

/// The circumstances that are the same for all objects of a round.
struct World {
    std::int64_t now = 0;     ///< Unix seconds
    bool is_leader = true;    ///< the Lease is this process's
    bool is_rewound = false;  ///< the past came back, and not everything was compared yet
    bool reads_tails = false; ///< the last of the output becomes part of the status
    std::string site = {};    ///< whose batch system this is
    Times times;
};

} // namespace cybele::bridge
