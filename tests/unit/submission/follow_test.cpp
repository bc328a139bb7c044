// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/begun.hpp"
#include "submission/follow/conclude.hpp"
#include "submission/follow/log_reader.hpp"
#include "submission/follow/pacing.hpp"

#include <deque>

#include <doctest/doctest.h>

using namespace cybele;
using submission::State;

namespace {

submission::Entry running() {
    submission::Entry entry;
    entry.uuid = "0a-1b";
    entry.id = "7";
    entry.state = State::kRunning;
    return entry;
}

submission::ExitRecord record(const std::string& state, int code, int signal = 0) {
    submission::ExitRecord made;
    made.uuid = "0a-1b";
    made.state = state;
    made.code = code;
    made.signal = signal;
    made.start = 900;
    made.end = 1000;
    return made;
}

/// It lives as long as the program, as evidence only points to it.
submission::JobStatus* status(State state, std::optional<int> code = std::nullopt, int signal = 0) {
    static std::deque<submission::JobStatus> all;
    submission::JobStatus& seen = all.emplace_back();
    seen.id = "7";
    seen.state = state;
    seen.native = std::string(submission::state_text(state));
    seen.code = code;
    seen.signal = signal;
    return &seen;
}

submission::Evidence evidence() {
    submission::Evidence made;
    made.was_asked = true;
    made.now = 1000;
    return made;
}

submission::Entry concluded(const submission::Evidence& given,
                            submission::Entry entry = running()) {
    submission::conclude(given, entry);
    return entry;
}

} // namespace

TEST_CASE("the script's own word comes first, whatever the scheduler still shows") {
    for (const bool is_listed : {false, true}) {
        submission::Evidence given = evidence();
        given.record = record("failed", 3);
        if (is_listed) {
            given.seen = status(State::kRunning);
        }
        const auto entry = concluded(given);
        CHECK(entry.ended == 1000);
        CHECK(entry.state == State::kFailed);
        CHECK(entry.shell_code() == 3);
    }
}

TEST_CASE("a program that the signal of a cancel reached before its script was cancelled") {
    submission::Evidence given = evidence();
    given.record = record("failed", 143, 15);
    given.now = given.record->end + submission::kSettleSeconds;
    given.seen = nullptr;
    CHECK(concluded(given).state == State::kFailed); // nobody cancelled it
    auto entry = running();
    entry.cancel_asked = 990;
    CHECK(concluded(given, entry).state == State::kCancelled);
    given.record = record("failed", 139, 11);
    CHECK(concluded(given, entry).state == State::kFailed);
}

TEST_CASE("a record without a time is an end all the same") {
    submission::Evidence given = evidence();
    given.record = record("failed", 3);
    given.record->end = 0;
    const auto entry = concluded(given);
    CHECK(entry.ended == given.now);
    CHECK(entry.state == State::kFailed);
}

TEST_CASE("a script that was told to end waits for the scheduler to say why") {
    submission::Evidence given = evidence();
    given.record = record("cancelled", 143, 15);
    given.seen = status(State::kRunning);
    CHECK(concluded(given).ended == 0);
    given.seen = status(State::kTimeout);
    CHECK(concluded(given).state == State::kTimeout);
    CHECK(concluded(given).shell_code() == 124);
    given.seen = status(State::kPreempted);
    CHECK(concluded(given).state == State::kPreempted);
    given.seen = status(State::kCancelled);
    CHECK(concluded(given).state == State::kCancelled);
    CHECK(concluded(given).shell_code() == 143);
    given.seen = nullptr; // it left the queue
    CHECK(concluded(given).state == State::kCancelled);
    given.was_asked = false;
    CHECK(concluded(given).ended == 0);
    given.now = 1000 + 1000 * submission::kSettleSeconds;
    CHECK(concluded(given).ended == 0); // only the scheduler knows whether it took the job back
    auto entry = running();
    entry.cancel_asked = 990;
    CHECK(concluded(given, entry).state == State::kCancelled);
}

TEST_CASE(
    "a program that the signal of a time limit reached before its script waits for the reason") {
    submission::Evidence given = evidence();
    given.record = record("failed", 143, 15);
    given.seen = status(State::kRunning);
    CHECK(concluded(given).ended == 0);
    given.seen = status(State::kTimeout);
    CHECK(concluded(given).state == State::kTimeout);
    given.seen = status(State::kFailed, 143);
    CHECK(concluded(given).state == State::kFailed);
    CHECK(concluded(given).shell_code() == 143);
}

TEST_CASE("a job that its scheduler took back to the queue goes on") {
    submission::Evidence given = evidence();
    given.record = record("cancelled", 143, 15);
    given.now = given.record->end + 2 * submission::kSettleSeconds;
    for (const State state : {State::kPending, State::kHeld}) {
        given.seen = status(state);
        given.was_asked = true;
        auto entry = concluded(given);
        CHECK(entry.ended == 0);
        CHECK(entry.state == state);
        given.was_asked = false; // a look at its old record, while nothing is asked
        given.seen = nullptr;
        entry = concluded(given, entry);
        CHECK(entry.ended == 0);
        CHECK(entry.state == state);
    }
    given.was_asked = true;
    auto* const again = status(State::kRunning);
    given.seen = again;
    again->began = given.record->end + 1;
    CHECK(concluded(given).ended == 0);
    again->began = given.record->end - 1; // the turn of this record
    CHECK(concluded(given).ended == 0);   // which is coming to its end
    given.now = given.record->end + given.patience;
    CHECK(concluded(given).state == State::kCancelled);
    given.record = record("failed", 3);
    given.seen = status(State::kPending);
    CHECK(concluded(given).state == State::kFailed); // it was not told to end
}

TEST_CASE("not listed is no state, and a failed query is no answer") {
    submission::Evidence given = evidence();
    given.was_asked = false;
    CHECK(concluded(given).missing_since == 0);
    given.was_asked = true;
    auto entry = concluded(given);
    CHECK(entry.ended == 0);
    CHECK(entry.state == State::kRunning);
    CHECK(entry.missing_since == 1000);
    given.now = 1000 + submission::kPatienceSeconds - 1;
    entry = concluded(given, entry);
    CHECK(entry.ended == 0);
    SUBCASE("seen again, the waiting starts anew") {
        given.seen = status(State::kRunning);
        CHECK(concluded(given, entry).missing_since == 0);
    }
    SUBCASE("after that it is lost: 125, never success") {
        given.now += 1;
        entry = concluded(given, entry);
        CHECK(entry.state == State::kLost);
        CHECK(entry.shell_code() == 125);
    }
}

TEST_CASE("a job that the scheduler no longer knows is cancelled where that was asked before") {
    submission::Evidence given = evidence();
    given.is_unknown = true;
    auto asked = running();
    asked.cancel_asked = 990;
    auto entry = concluded(given, asked);
    CHECK(entry.ended == 0); // once may be a server that starts
    CHECK(concluded(given, entry).ended == 0);
    given.now += 1;
    CHECK(concluded(given, entry).state == State::kCancelled);
    CHECK(concluded(given, entry).reason.empty());
    SUBCASE("gone before anybody asked, it is lost, at once") {
        entry.missing_since = 980;
        CHECK(concluded(given, entry).state == State::kLost);
    }
    SUBCASE("not asked, it is waited for") {
        entry.cancel_asked = 0;
        CHECK(concluded(given, entry).ended == 0);
    }
    SUBCASE("not listed is not unknown") {
        given.is_unknown = false;
        CHECK(concluded(given, entry).ended == 0);
    }
    SUBCASE("the server's own words come before our wish") {
        given.accounted = status(State::kTimeout);
        CHECK(concluded(given, entry).state == State::kTimeout);
    }
}

TEST_CASE("a job that followed others, never began, and is no longer known, was removed") {
    submission::Evidence given = evidence();
    given.is_unknown = true;
    given.has_begun = false;
    auto waits = running();
    waits.state = State::kPending;
    waits.started = 0;
    waits.follows = 3;
    waits.missing_since = given.now - submission::kSettleSeconds;
    auto entry = concluded(given, waits);
    CHECK(entry.state == State::kCancelled);
    CHECK(entry.shell_code() == 143);
    CHECK(entry.reason.starts_with("never started: a job that it was to follow"));
    SUBCASE("its mark may still come") {
        waits.missing_since += 1;
        CHECK(concluded(given, waits).ended == 0);
    }
    SUBCASE("it began") {
        given.has_begun = true;
        CHECK(concluded(given, waits).ended == 0);
    }
    SUBCASE("it was seen to run") {
        waits.started = 900;
        CHECK(concluded(given, waits).ended == 0);
    }
    SUBCASE("it followed none") {
        waits.follows = 0;
        CHECK(concluded(given, waits).ended == 0);
    }
    SUBCASE("not listed is not unknown") {
        given.is_unknown = false;
        CHECK(concluded(given, waits).ended == 0);
    }
}

TEST_CASE("the scheduler's own end, where the script left no word") {
    submission::Evidence given = evidence();
    given.seen = status(State::kDone);
    CHECK(concluded(given).shell_code() == 0);
    given.seen = status(State::kTimeout);
    CHECK(concluded(given).shell_code() == 124);
    given.seen = status(State::kCancelled);
    CHECK(concluded(given).shell_code() == 143);
    // A failure without a code is not given one.
    given.seen = status(State::kFailed);
    CHECK(submission::needs_inquiry(given, running()));
    CHECK(concluded(given).ended == 0);
    given.accounted = status(State::kFailed, 9);
    CHECK(concluded(given).shell_code() == 9);
    given.accounted = status(State::kFailed, std::nullopt, 11);
    CHECK(concluded(given).shell_code() == 139);
}

TEST_CASE("what Slurm shows is no signal of a job that it could not start, and no wait of an end") {
    submission::Evidence given = evidence();
    auto entry = running();
    entry.standard_output = "/gone/o.log";
    auto* const failed = status(State::kFailed, std::nullopt, 53);
    given.seen = failed;
    for (const char* reason : {"JobLaunchFailure", "RaisedSignal:53(Real-time_signal_19)"}) {
        failed->reason = reason;
        const auto end = concluded(given, entry);
        CHECK(end.state == State::kFailed);
        CHECK(end.shell_code() == 1);
        CHECK(end.reason.starts_with("Slurm could not start it"));
        CHECK(end.reason.ends_with("/gone/o.log"));
    }
    failed->reason = "NonZeroExitCode";
    CHECK(concluded(given, entry).shell_code() == 128 + 53);
    struct Row {
        const char* shown;
        const char* kept;
    };
    for (const Row& row : {Row{"Resources", ""},
                           Row{"Priority", ""},
                           Row{"JobHeldUser", ""},
                           Row{"QOSMaxJobsPerUserLimit", ""},
                           Row{"Dependency", ""},
                           Row{"DependencyNeverSatisfied", "DependencyNeverSatisfied"},
                           Row{"DependencyNeverSatisfied: ok:3", "DependencyNeverSatisfied: ok:3"},
                           Row{"NodeDown", "NodeDown"}}) {
        CAPTURE(row.shown);
        auto* const cancelled = status(State::kCancelled);
        cancelled->reason = row.shown;
        given.seen = cancelled;
        CHECK(concluded(given).reason == row.kept);
    }
    auto* const waiting = status(State::kPending);
    waiting->reason = "Resources";
    given.seen = waiting;
    CHECK(concluded(given).reason == "Resources");
}

TEST_CASE("a cancelled job that the scheduler shows as over needs no further reason") {
    submission::Evidence given = evidence();
    given.record = record("cancelled", 143, 15);
    given.seen = status(State::kLost);  // `C` of Slurm's qstat: over, without a reason
    CHECK(concluded(given).ended == 0); // the reason may still come
    auto entry = running();
    entry.cancel_asked = 990;
    given.seen = status(State::kRunning);
    CHECK(concluded(given, entry).ended == 0);
    given.seen = status(State::kLost);
    CHECK(concluded(given, entry).ended == 1000);
    CHECK(concluded(given, entry).state == State::kCancelled);
    CHECK(concluded(given, entry).shell_code() == 143);
}

TEST_CASE("an end that nobody explains is a cancelled job where that was asked") {
    submission::Evidence given = evidence();
    given.seen = status(State::kLost);
    CHECK(submission::needs_inquiry(given, running()));
    CHECK(concluded(given).ended == 0);
    auto asked = running();
    asked.cancel_asked = 990;
    CHECK(concluded(given, asked).state == State::kCancelled);
    // Killed by KILL after TERM was ignored.
    given.seen = status(State::kFailed, std::nullopt, 9);
    CHECK(concluded(given, asked).state == State::kCancelled);
}

TEST_CASE(
    "death by a signal is a cancelled job only where that was asked, and asking alone is none") {
    auto given = evidence();
    given.seen = status(State::kFailed, std::nullopt, 9);
    CHECK(concluded(given).state == State::kFailed);
    given.seen = status(State::kFailed, 3);
    auto asked = running();
    asked.cancel_asked = 990;
    const auto failed = concluded(given, asked);
    CHECK(failed.state == State::kFailed);
    CHECK(failed.code == 3);
}

TEST_CASE("a record of a cancelled script stands where the scheduler calls the job done") {
    auto given = evidence();
    given.record = record("cancelled", 143, 15);
    given.seen = status(State::kDone);
    CHECK(concluded(given).state == State::kCancelled);
    given.seen = status(State::kTimeout);
    CHECK(concluded(given).state == State::kTimeout);
}

TEST_CASE("a job that the accounting sees alive lives, where the queue does not show it alive") {
    auto given = evidence();
    given.seen = status(State::kLost);
    given.accounted = status(State::kRunning);
    const auto lives = concluded(given);
    CHECK(lives.state == State::kRunning);
    CHECK(lives.ended == 0);
    CHECK(lives.missing_since == 0);
    given.seen = status(State::kSuspended);
    CHECK(concluded(given).state == State::kSuspended); // the queue knows better
}

TEST_CASE("a job that was cancelled and that nothing lists waits for evidence") {
    auto asked = running();
    asked.cancel_asked = 990;
    const auto waits = concluded(evidence(), asked);
    CHECK(waits.state == State::kRunning);
    CHECK(waits.ended == 0);
    CHECK(waits.missing_since == 1000);
}

TEST_CASE("what has ended stays as it is") {
    auto entry = running();
    entry.state = State::kDone;
    entry.ended = 900;
    submission::Evidence given = evidence();
    given.seen = status(State::kRunning);
    CHECK(concluded(given, entry).state == State::kDone);
}

TEST_CASE("questions become rare while nothing happens, and rarer without an answer") {
    submission::Pacing pacing;
    CHECK(pacing.pause(0.5).count() == 1000);
    CHECK(pacing.pause(0.0).count() == 800);
    CHECK(pacing.pause(1.0).count() == 1200);
    for (int turn = 0; turn < 20; ++turn) {
        pacing.saw_nothing();
    }
    CHECK(pacing.pause(0.5) == std::chrono::seconds(30));
    for (int turn = 0; turn < 20; ++turn) {
        pacing.saw_failure();
    }
    CHECK(pacing.pause(0.5) == std::chrono::minutes(5));
    pacing.saw_nothing();
    CHECK(pacing.pause(0.5) == std::chrono::seconds(30));
    pacing.saw_change();
    CHECK(pacing.pause(0.5) == std::chrono::seconds(1));
}

TEST_CASE("a log gives whole lines, an unfinished one after a second, and starts again when cut") {
    using Clock = submission::LogReader::Clock;
    submission::LogReader log("/tmp/log");
    const auto start = Clock::now();
    CHECK(log.take({true, 8, "one\ntwo "}, start, false) == "one\n");
    CHECK(log.next().offset == 8);
    CHECK(log.take({true, 8, ""}, start + std::chrono::milliseconds(500), false).empty());
    CHECK(log.take({true, 8, ""}, start + std::chrono::seconds(2), false) == "two ");
    CHECK(log.take({true, 3, ""}, start, false).empty());
    CHECK(log.was_cut());
    CHECK_FALSE(log.was_cut());
    CHECK(log.next().offset == 0);
    CHECK(log.take({true, 3, "new"}, start, true) == "new");
    CHECK(log.take({false, 0, ""}, start, true).empty());
}

TEST_CASE("a log whose name another file took is shown from its start, however long that one is") {
    using Clock = submission::LogReader::Clock;
    submission::LogReader log("/tmp/log");
    const auto start = Clock::now();
    CHECK(log.take({true, 4, "one\n", 7}, start, false) == "one\n");
    CHECK(log.take({false, 0, ""}, start, false).empty()); // between the two
    CHECK(log.take({true, 9, "t\nfour\n", 8}, start, false).empty());
    CHECK(log.was_cut());
    CHECK(log.has_more());
    CHECK(log.next().offset == 0);
    CHECK(log.take({true, 9, "next\nfour\n", 8}, start, false) == "next\nfour\n");
    CHECK_FALSE(log.was_cut());
}

TEST_CASE("a log is the job's own when the job has begun, not when it was submitted") {
    struct Row {
        State state;
        bool is_marked;
        std::int64_t started;
        int seconds;
        bool is_own;
    };
    for (const Row& row : {Row{State::kSubmitting, false, 0, 0, false},
                           Row{State::kPending, false, 0, 99, false},
                           Row{State::kHeld, false, 0, 0, false},
                           Row{State::kStarting, false, 0, 0, false},
                           Row{State::kPending, true, 0, 0, true},
                           Row{State::kRunning, false, 7, 4, false},
                           Row{State::kRunning, false, 7, 5, true},
                           Row{State::kRunning, true, 7, 0, true},
                           Row{State::kCancelled, false, 0, 0, false},
                           Row{State::kCancelled, false, 7, 0, true},
                           Row{State::kNotSubmitted, false, 0, 0, false},
                           Row{State::kDone, false, 0, 0, true},
                           Row{State::kLost, false, 0, 0, true}}) {
        CAPTURE(submission::state_text(row.state));
        submission::Entry entry;
        entry.state = row.state;
        entry.started = row.started;
        CHECK(submission::has_begun(entry, row.is_marked, std::chrono::seconds(row.seconds)) ==
              row.is_own);
    }
}
