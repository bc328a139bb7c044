// SPDX-License-Identifier: Apache-2.0
#include "submission/journal/journal.hpp"
#include "submission/local/dependency.hpp"
#include "submission/local/local_backend.hpp"
#include "submission/local/local_job.hpp"
#include "submission/local/queue.hpp"
#include "submission/local/scheduler.hpp"
#include "submission/local/session.hpp"
#include "submission/local/starters.hpp"
#include "submission/records/process_identity.hpp"
#include "support/file.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;
using submission::ConditionState;
using submission::LocalCondition;
using submission::LocalDraft;
using submission::LocalPart;
using submission::LocalSpec;
using submission::Queue;
using submission::QueueLock;
using Phase = submission::LocalPart::Phase;

namespace {

struct Spot {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-queue").value();
    [[nodiscard]] const std::filesystem::path& path() const {
        return directory.path();
    }
};

LocalSpec spec(std::int64_t number, const std::filesystem::path& record = "/nowhere") {
    LocalSpec one;
    one.number = number;
    one.uuid = "uuid-" + std::to_string(number);
    one.host = "here";
    one.name = "name";
    one.record = record;
    one.after = "ok:1";
    one.demand.cpus = 3;
    one.demand.memory = 5;
    one.demand.gpus = 1;
    one.demand.seconds = 60;
    one.demand.is_exclusive = true;
    one.most = 2;
    return one;
}

LocalPart
part(std::int64_t number, std::int64_t index, Phase phase, const std::string& outcome = "") {
    LocalPart one;
    one.number = number;
    one.index = index;
    one.phase = phase;
    one.outcome = outcome;
    return one;
}

ConditionState
met(const std::string& when, const std::vector<LocalPart>& parts, std::int64_t index = -1) {
    return submission::judge(LocalCondition{when, 1, index}, parts);
}

} // namespace

TEST_CASE("the queue gives back what was put, in order, and what has ended is not active") {
    const Spot place;
    CHECK_FALSE(Queue::exists(place.path()));
    const Queue queue = Queue::open(place.path()).value();
    CHECK(queue.last_number().value() == 0);
    LocalPart running = part(2, -1, Phase::kRunning);
    running.cpus = "0-1";
    running.gpus = "3";
    running.supervisor = "1 2 three";
    running.attempt = 4;
    running.started = 77;
    REQUIRE(queue
                .put({spec(1), spec(2)},
                     {part(1, 1, Phase::kWaiting), part(1, 0, Phase::kEnded, "done"), running})
                .has_value());
    const auto state = Queue::open(place.path()).value().active().value();
    REQUIRE(state.parts.size() == 2);
    CHECK(state.parts[0].id() == "1_1");
    CHECK(state.parts[1].id() == "2");
    CHECK(state.parts[1].cpus == "0-1");
    CHECK(state.parts[1].gpus == "3");
    CHECK(state.parts[1].attempt == 4);
    CHECK(state.parts[1].started == 77);
    CHECK(state.specs.at(2).demand.cpus == 3);
    CHECK(state.specs.at(2).demand.is_exclusive);
    CHECK(state.specs.at(2).most == 2);
    CHECK(queue.last_number().value() == 2);
    CHECK(queue.parts_of(1).value().size() == 2);
    CHECK(queue.parts_of(9).value().empty());
    const auto found = queue.find("uuid-2").value();
    REQUIRE(found.has_value());
    CHECK(found.value_or(LocalSpec{}).number == 2);
    CHECK_FALSE(queue.find("uuid-3").value().has_value());
}

TEST_CASE("a queue of another version is refused") {
    const Spot place;
    REQUIRE(Queue::open(place.path()).has_value());
    const DatabaseUse use{"q", "", "", ""};
    REQUIRE(Database::open(place.path() / "local.sqlite", Database::Mode::kChange, use)
                .value()
                .run("PRAGMA user_version=7")
                .has_value());
    const auto refused = Queue::open(place.path());
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == ErrorCode::kEnvironment);
}

TEST_CASE("the lock is one process's; it goes with it, and a forked one does not hold it") {
    const Spot place;
    const pid_t pid = ::fork();
    if (pid == 0) {
        auto lock = QueueLock::take(place.path(), 10'000);
        ::poll(nullptr, 0, lock && *lock ? 100'000 : 0);
        ::_exit(1);
    }
    bool is_taken = false;
    for (int tries = 0; tries < 500 && !is_taken; ++tries) {
        auto lock = QueueLock::take(place.path(), 0);
        is_taken = lock.has_value() && !lock.value().has_value();
        lock.value().reset();
        ::usleep(10'000);
    }
    CHECK(is_taken);
    ::kill(pid, SIGKILL);
    CHECK(::waitpid(pid, nullptr, 0) == pid);
    auto mine = QueueLock::take(place.path(), 1000);
    REQUIRE(mine.has_value());
    REQUIRE(mine->has_value());
    const pid_t other = ::fork();
    if (other == 0) {
        ::pause();
        ::_exit(0);
    }
    mine->reset();
    auto again = QueueLock::take(place.path(), 0);
    CHECK((again.has_value() && again->has_value()));
    ::kill(other, SIGKILL);
    CHECK(::waitpid(other, nullptr, 0) == other);
}

TEST_CASE("conditions: what the parts of the other job make of them") {
    const std::vector<LocalPart> waits{part(1, -1, Phase::kWaiting)};
    const std::vector<LocalPart> runs{part(1, -1, Phase::kRunning)};
    const std::vector<LocalPart> good{part(1, -1, Phase::kEnded, "done")};
    const std::vector<LocalPart> bad{part(1, -1, Phase::kEnded, "failed")};
    struct Row {
        const char* when;
        ConditionState waits;
        ConditionState runs;
        ConditionState good;
        ConditionState bad;
    };
    for (const Row& row : {Row{"ok",
                               ConditionState::kNotYet,
                               ConditionState::kNotYet,
                               ConditionState::kYes,
                               ConditionState::kNever},
                           Row{"any",
                               ConditionState::kNotYet,
                               ConditionState::kNotYet,
                               ConditionState::kYes,
                               ConditionState::kYes},
                           Row{"failed",
                               ConditionState::kNotYet,
                               ConditionState::kNotYet,
                               ConditionState::kNever,
                               ConditionState::kYes},
                           Row{"started",
                               ConditionState::kNotYet,
                               ConditionState::kYes,
                               ConditionState::kYes,
                               ConditionState::kYes}}) {
        CAPTURE(row.when);
        CHECK(met(row.when, waits) == row.waits);
        CHECK(met(row.when, runs) == row.runs);
        CHECK(met(row.when, good) == row.good);
        CHECK(met(row.when, bad) == row.bad);
        CHECK(met(row.when, {}) == ConditionState::kNever);
    }
    const std::vector<LocalPart> array{part(1, 0, Phase::kEnded, "done"),
                                       part(1, 1, Phase::kEnded, "lost"),
                                       part(1, 2, Phase::kRunning)};
    CHECK(met("ok", array) == ConditionState::kNever);
    CHECK(met("ok", array, 0) == ConditionState::kYes);
    CHECK(met("failed", array) == ConditionState::kNotYet);
    CHECK(met("any", array, 1) == ConditionState::kYes);
    CHECK(met("any", array, 7) == ConditionState::kNever);
    CHECK(met("started", array) == ConditionState::kYes);
}

TEST_CASE("conditions and ids are written as they are read") {
    CHECK(submission::text_of(submission::read_conditions("ok:12 any:13_2")) == "ok:12 any:13_2");
    CHECK(submission::read_conditions("").empty());
    CHECK(submission::read_conditions("ok:x y").empty());
    for (const char* const wrong : {"", "x", "0", "-1", "1_", "1_x", "1_-1", "_1", "12.server"}) {
        CAPTURE(wrong);
        CHECK_FALSE(submission::read_local_id(wrong).has_value());
    }
}

TEST_CASE("processes that are to be supervisors do nothing until they are told, and end with who "
          "forked them") {
    const Spot place;
    const auto begun = place.path() / "begun";
    for (const bool is_told : {true, false}) {
        CAPTURE(is_told);
        std::vector<submission::ProcessIdentity> ids;
        {
            const auto starters = submission::Starters::fork(2, "");
            REQUIRE(starters.has_value());
            if (starters->child()) {
                if (starters->may_begin()) {
                    (void)write_file(begun, std::to_string(::getppid()));
                }
                ::_exit(0);
            }
            ids = starters->ids();
            REQUIRE(ids.size() == 2);
            CHECK(ids[0].is_alive());
            CHECK(ids[1].is_alive());
            if (is_told) {
                starters->go();
            }
        }
        for (int tries = 0; tries < 500 && (ids[0].is_alive() || ids[1].is_alive()); ++tries) {
            ::usleep(10'000);
        }
        CHECK_FALSE(ids[0].is_alive());
        CHECK_FALSE(ids[1].is_alive());
        CHECK(std::filesystem::exists(begun) == is_told);
        std::filesystem::remove(begun);
    }
}

namespace {

/// A draft with one part that runs under a supervisor that is dead.
LocalDraft orphan(const std::filesystem::path& record, std::int64_t attempt = 1) {
    LocalDraft draft;
    draft.now = 500;
    draft.state.specs.emplace(1, spec(1, record));
    LocalPart one = part(1, -1, Phase::kRunning);
    one.attempt = attempt;
    one.supervisor = "999999999 1 none";
    draft.state.parts.push_back(one);
    draft.is_changed.push_back(false);
    return draft;
}

void leave_record(const std::filesystem::path& folder, const std::string& state) {
    submission::ExitRecord record;
    record.uuid = "uuid-1";
    record.state = state;
    REQUIRE(make_directories(folder).has_value());
    REQUIRE(submission::write_exit_record(folder, record).has_value());
}

} // namespace

TEST_CASE("a supervisor that was killed: its job waits again, has ended as written, or is lost") {
    const Spot place;
    const std::filesystem::path record = place.path() / ".cybelectl" / "uuid-1";
    REQUIRE(make_directories(record, 0700).has_value());
    SUBCASE("its script never began") {
        LocalDraft draft = orphan(record);
        submission::recover(draft, "here");
        CHECK(draft.state.parts[0].phase == Phase::kWaiting);
        CHECK(draft.state.parts[0].attempt == 2);
        CHECK(draft.is_changed[0]);
        CHECK_FALSE(submission::take_attempt(submission::attempt_file(record, 1)));
    }
    SUBCASE("again and again: it fails") {
        LocalDraft draft = orphan(record, 5);
        submission::recover(draft, "here");
        CHECK(draft.state.parts[0].outcome == "failed");
    }
    SUBCASE("the end stands in the record") {
        leave_record(record, "timeout");
        LocalDraft draft = orphan(record);
        submission::recover(draft, "here");
        CHECK(draft.state.parts[0].outcome == "timeout");
        CHECK(draft.state.parts[0].ended == 500);
    }
    SUBCASE("the script's own word is believed, but for being cancelled") {
        REQUIRE(write_file(submission::attempt_file(record, 1), "999999999 1 none\n").has_value());
        leave_record(record / "script", "done");
        LocalDraft draft = orphan(record);
        submission::recover(draft, "here");
        CHECK(draft.state.parts[0].outcome == "done");
        CHECK(submission::read_exit_record(record).value().has_value());
        leave_record(record / "script", "cancelled");
        std::filesystem::remove(record / "exit.json");
        LocalDraft other = orphan(record);
        submission::recover(other, "here");
        CHECK(other.state.parts[0].outcome == "lost");
    }
    SUBCASE("nothing is written where another folder has the record's name") {
        std::filesystem::rename(place.path() / ".cybelectl", place.path() / "was");
        REQUIRE(make_directories(place.path() / "other/uuid-1").has_value());
        std::filesystem::create_directory_symlink("other", place.path() / ".cybelectl");
        LocalDraft draft = orphan(record);
        submission::recover(draft, "here");
        CHECK(draft.state.parts[0].outcome == "lost");
        CHECK(std::filesystem::is_empty(place.path() / "other/uuid-1"));
    }
    SUBCASE("another machine's job is let alone") {
        LocalDraft draft = orphan(record);
        submission::recover(draft, "elsewhere");
        CHECK(draft.state.parts[0].phase == Phase::kRunning);
        CHECK_FALSE(draft.is_changed[0]);
    }
}

TEST_CASE("a turn whose change is refused leaves nothing; one without the lock changes nothing") {
    const Spot place;
    const submission::LocalScheduler scheduler(place.path(), Environment());
    const auto refused = scheduler.turn(
        [](LocalDraft& draft) -> Result<void> {
            draft.add(spec(1), {-1});
            return fail(ErrorCode::kInput, problem("test", "no"));
        },
        1000);
    CHECK_FALSE(refused.has_value());
    CHECK(Queue::open(place.path()).value().last_number().value() == 0);
    auto lock = QueueLock::take(place.path(), 0);
    REQUIRE((lock.has_value() && lock->has_value()));
    const auto busy = scheduler.turn([](LocalDraft&) { return Result<void>(); }, 0);
    REQUIRE(busy.has_value());
    CHECK_FALSE(busy->was_taken);
}

TEST_CASE("an array after an array of thousands is settled at once") {
    constexpr std::int64_t kParts = 4000;
    const Spot place;
    const submission::LocalScheduler scheduler(place.path(), Environment());
    std::vector<std::int64_t> indices;
    for (std::int64_t at = 0; at < kParts; ++at) {
        indices.push_back(at);
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto turn = scheduler.turn(
        [&indices](LocalDraft& draft) {
            LocalSpec first = spec(1);
            first.after.clear();
            draft.add(first, indices);
            draft.add(spec(2), indices);
            return Result<void>();
        },
        1000);
    REQUIRE(turn.has_value());
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    REQUIRE(turn->draft.waits.size() == 2 * kParts);
    CHECK(turn->draft.waits[0].reason.empty());
    CHECK(turn->draft.waits[kParts].reason == "Dependency");
    CHECK(turn->draft.waits[2 * kParts - 1].reason == "Dependency");
}

TEST_CASE("a job that runs on another machine is not cancelled from here") {
    const Spot place;
    const Environment environment{EnvironmentMap{{"CYBELE_STATE_DIR", place.path().native()}}};
    const submission::LocalScheduler scheduler(submission::Journal::folder(environment),
                                               environment);
    REQUIRE(scheduler
                .turn(
                    [](LocalDraft& draft) {
                        draft.add(spec(1), {0, 1});
                        draft.state.parts[0].phase = Phase::kRunning;
                        return Result<void>();
                    },
                    1000)
                .has_value());
    submission::JobRef job;
    job.uuid = "uuid-1";
    const auto backend = submission::local_backend(environment);
    job.id = "1_1"; // it waits
    CHECK(backend->cancel({job}).has_value());
    job.id = "1_0";
    const auto refused = backend->cancel({job});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().faults().front().id == "local-cancel-elsewhere");
    CHECK(refused.error().faults().front().because == "it runs on here");
}
