// SPDX-License-Identifier: Apache-2.0
#include "submission/journal/journal.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <array>
#include <csignal>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

struct StateFolder {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    Environment environment{EnvironmentMap{{"CYBELE_STATE_DIR", directory.path().native()}}};

    [[nodiscard]] submission::Journal open() const {
        return submission::Journal::open(environment).value();
    }
    void execute(const std::string& statement) const {
        sqlite3* database = nullptr;
        REQUIRE(sqlite3_open((directory.path() / "jobs.sqlite").c_str(), &database) == SQLITE_OK);
        REQUIRE(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
        sqlite3_close(database);
    }
};

submission::Entry entry(const std::string& uuid, const std::string& id) {
    submission::Entry made;
    made.uuid = uuid;
    made.id = id;
    made.scheduler = "slurm";
    made.name = "it's; DROP TABLE jobs";
    made.script = "sha256:00";
    made.folder = "/home/\xc3\xa9";
    made.asked = 100;
    made.code = 3;
    made.state = id.empty() ? submission::State::kSubmitting : submission::State::kRunning;
    return made;
}

const std::string kFirst = "0a1b2c3d-0000-4000-8000-000000000001";
const std::string kSecond = "0a1b2c3e-0000-4000-8000-000000000002";

} // namespace

TEST_CASE("clients that make the journal at the same instant all have it") {
    for (int round = 0; round < 40; ++round) {
        const StateFolder folder;
        int gate[2];
        REQUIRE(pipe(gate) == 0);
        std::array<pid_t, 4> clients{};
        for (pid_t& client : clients) {
            client = fork();
            if (client == 0) {
                char end = 0;
                close(gate[1]);
                (void)!read(gate[0], &end, 1); // all are let go by its close
                _exit(submission::Journal::open(folder.environment).has_value() ? 0 : 1);
            }
        }
        close(gate[0]);
        close(gate[1]);
        for (const pid_t client : clients) {
            CHECK(wait_for(client) == 0);
        }
    }
}

TEST_CASE("an entry comes back as it was put, also by another client") {
    const StateFolder place;
    REQUIRE(place.open().put(entry(kFirst, "12.head")).has_value());
    const auto journal = place.open();
    const auto found = journal.find("12.head");
    REQUIRE(found.has_value());
    CHECK(found->uuid == kFirst);
    CHECK(found->name == "it's; DROP TABLE jobs");
    CHECK(found->folder == "/home/\xc3\xa9");
    CHECK(found->code == 3);
    CHECK(found->state == submission::State::kRunning);
    CHECK((fs::status(journal.path().parent_path()).permissions() & fs::perms::others_all) ==
          fs::perms::none);
}

TEST_CASE("jobs are found by id, by its number, by UUID and by the start of one") {
    const StateFolder place;
    const auto journal = place.open();
    REQUIRE(journal.put({entry(kFirst, "12.head"), entry(kSecond, "13")}).has_value());
    for (const std::string& name :
         {std::string("12.head"), std::string("12"), kFirst, kFirst.substr(0, 8)}) {
        CAPTURE(name);
        const auto found = journal.find(name);
        REQUIRE(found.has_value());
        CHECK(found->uuid == kFirst);
    }
    for (const char* name : {"1", "0a1b2c3", "99", "", "%", "0a1b2c3d-1"}) {
        CAPTURE(name);
        const auto found = journal.find(name);
        REQUIRE_FALSE(found.has_value());
        CHECK_FALSE(found.error().faults().front().help.empty());
    }
}

TEST_CASE("a number that came again means the job that lives") {
    const StateFolder place;
    const auto journal = place.open();
    auto old = entry(kFirst, "12");
    REQUIRE(journal.put({old, entry(kSecond, "12")}).has_value());
    const auto both = journal.find("12");
    REQUIRE_FALSE(both.has_value());
    CHECK(both.error().faults().front().because.find(kSecond) != std::string::npos);
    old.ended = 200;
    REQUIRE(journal.put(old).has_value());
    CHECK(journal.find("12").value().uuid == kSecond);
    auto young = entry(kSecond, "12");
    young.ended = 300;
    REQUIRE(journal.put(young).has_value());
    CHECK(journal.find("12").value().uuid == kSecond); // of those that ended, the newest
    young.ended = 0;
    REQUIRE(journal.put(young).has_value());
    CHECK(journal.list(false).value().size() == 1);
    CHECK(journal.list().value().size() == 2);
}

TEST_CASE("a journal of an earlier version keeps its jobs, and gets the columns that it lacks") {
    const StateFolder place;
    REQUIRE(place.open().put(entry(kFirst, "1")).has_value());
    place.execute("DROP TABLE jobs");
    place.execute("CREATE TABLE jobs(uuid TEXT NOT NULL UNIQUE, scheduler TEXT NOT NULL, "
                  "login TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, "
                  "native TEXT NOT NULL, reason TEXT NOT NULL, folder TEXT NOT NULL, "
                  "workdir TEXT NOT NULL, record TEXT NOT NULL, stdout TEXT NOT NULL, "
                  "stderr TEXT NOT NULL, script TEXT NOT NULL, job TEXT NOT NULL, "
                  "array TEXT NOT NULL, client TEXT NOT NULL, code INTEGER NOT NULL, "
                  "signal INTEGER NOT NULL, asked INTEGER NOT NULL, submitted INTEGER NOT NULL, "
                  "started INTEGER NOT NULL, ended INTEGER NOT NULL, "
                  "missing_since INTEGER NOT NULL, cancel_asked INTEGER NOT NULL, "
                  "nodes INTEGER NOT NULL, tasks INTEGER NOT NULL, cpus INTEGER NOT NULL, "
                  "time_limit INTEGER NOT NULL, state TEXT NOT NULL)");
    const auto insert_as_before = [&place](const std::string& id) {
        place.execute("INSERT INTO jobs(uuid, scheduler, login, id, name, native, reason, folder, "
                      "workdir, record, stdout, stderr, script, job, array, client, code, signal, "
                      "asked, submitted, started, ended, missing_since, cancel_asked, nodes, "
                      "tasks, cpus, time_limit, state) VALUES('0a1b2c3" +
                      id + "', 'slurm', '', '" + id +
                      "', 'old', '', '', '/f', '/w', '/w/r', '', '', 'sha256:0', '/j', '', '', 0, "
                      "0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 'running')");
    };
    insert_as_before("7");
    const auto journal = place.open();
    REQUIRE(journal.find("7").has_value());
    CHECK(journal.find("7")->name == "old");
    CHECK(journal.find("7")->image_digest.empty());
    CHECK(journal.find("7")->results.empty());
    auto second = entry(kSecond, "2");
    second.image_digest = "sha256:4567";
    second.results = "[\"a\"]";
    second.patience = 7;
    REQUIRE(journal.put(second).has_value());
    CHECK(place.open().find("2")->image_digest == "sha256:4567");
    CHECK(place.open().find("2")->patience == 7);
    CHECK(journal.find("7")->patience == 0);
    CHECK(place.open().find("2")->results == "[\"a\"]");
    insert_as_before("8"); // a client of that version goes on writing to it
    CHECK(place.open().find("8")->image_digest.empty());
}

TEST_CASE("one number of two schedulers names none of their jobs, ended or not") {
    const StateFolder place;
    const auto journal = place.open();
    auto here = entry(kFirst, "12");
    here.scheduler = "local";
    auto there = entry(kSecond, "12");
    there.scheduler = "slurm";
    for (const std::int64_t ended : {0, 200}) {
        here.ended = ended;
        REQUIRE(journal.put({here, there}).has_value());
        const auto found = journal.find("12");
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().faults().front().help.find("`local:12`") != std::string::npos);
        CHECK(journal.find("local:12").value().uuid == kFirst);
        CHECK(journal.find("slurm:12").value().uuid == kSecond);
        CHECK_FALSE(journal.find("torque:12").has_value());
    }
}

TEST_CASE("one number at two logins of a scheduler names neither job") {
    const StateFolder place;
    const auto journal = place.open();
    auto first = entry(kFirst, "12");
    first.login = "one";
    auto second = entry(kSecond, "12");
    second.login = "two";
    REQUIRE(journal.put({first, second}).has_value());
    CHECK_FALSE(journal.find("12").has_value());
    CHECK_FALSE(journal.find("slurm:12").has_value());
    first.ended = second.ended = 200; // neither is the newer one of the same cluster
    REQUIRE(journal.put({first, second}).has_value());
    const auto ambiguous = journal.find("12");
    REQUIRE_FALSE(ambiguous.has_value());
    const auto& fault = ambiguous.error().faults().front();
    CHECK(fault.because ==
          std::string("they are ") + kFirst + " (slurm of one), " + kSecond + " (slurm of two)");
    CHECK(fault.help.find("slurm:12") == std::string::npos); // it would name both again
    CHECK(journal.find(std::string(kSecond).substr(0, 8)).value().login == "two");
    CHECK(journal.find(kSecond).value().login == "two");
}

TEST_CASE("a submission that was not acknowledged is found by what was submitted, and where") {
    const StateFolder place;
    const auto journal = place.open();
    REQUIRE(journal.put({entry(kFirst, ""), entry(kSecond, "13")}).has_value());
    CHECK(journal.unacknowledged(entry("", ""), 0).value().size() == 1);
    auto found = entry(kSecond, "13");
    found.client = submission::kFound;
    found.asked = 100;
    REQUIRE(journal.put(found).has_value()); // its client never had the id
    CHECK(journal.unacknowledged(entry("", ""), 200).value().size() == 2);
    found.ended = 150;
    REQUIRE(journal.put(found).has_value());
    CHECK(journal.unacknowledged(entry("", ""), 100).value().size() == 2);
    CHECK(journal.unacknowledged(entry("", ""), 101).value().size() == 1);
    auto other = entry("", "");
    other.folder = "/elsewhere";
    CHECK(journal.unacknowledged(other, 0).value().empty());
    other = entry("", "");
    other.script = "sha256:11";
    CHECK(journal.unacknowledged(other, 0).value().empty());
}

TEST_CASE("a journal of another version, and a file that is none, are refused in a sentence") {
    const StateFolder place;
    SUBCASE("version") {
        (void)place.open();
        place.execute("PRAGMA user_version=7");
        const auto journal = submission::Journal::open(place.environment);
        REQUIRE_FALSE(journal.has_value());
        CHECK(journal.error().message() ==
              "the journal of jobs is of version 7, this cybelectl reads version 1");
        CHECK(journal.error().code() == ErrorCode::kEnvironment);
    }
    SUBCASE("no database") {
        REQUIRE(
            write_file(place.directory.path() / "jobs.sqlite", std::string(5000, 'x')).has_value());
        const auto journal = submission::Journal::open(place.environment);
        REQUIRE_FALSE(journal.has_value());
        CHECK(journal.error().faults().front().because.find("not a database") != std::string::npos);
    }
    SUBCASE("a folder that is a file") {
        const auto file = place.directory.path() / "file";
        REQUIRE(write_file(file, "x").has_value());
        const auto journal = submission::Journal::open(
            Environment(EnvironmentMap{{"CYBELE_STATE_DIR", (file / "state").native()}}));
        REQUIRE_FALSE(journal.has_value());
        CHECK(journal.error().faults().front().help.find("CYBELE_STATE_DIR") != std::string::npos);
    }
}

TEST_CASE(
    "two clients that write at once both succeed, and a killed one loses nothing it was told") {
    const StateFolder place;
    (void)place.open();
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    std::vector<pid_t> clients;
    for (int client = 0; client < 3; ++client) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            const auto journal = submission::Journal::open(place.environment);
            for (int number = 0; number < 20; ++number) {
                const std::string uuid =
                    "c" + std::to_string(client) + "-" + std::to_string(number);
                if (!journal || !journal->put(entry(uuid, uuid))) {
                    ::_exit(1);
                }
                (void)!::write(ends[1], "x", 1);
            }
            (void)::raise(SIGKILL);
        }
        clients.push_back(pid);
    }
    for (const pid_t pid : clients) {
        CHECK(wait_for(pid) == 128 + SIGKILL);
    }
    ::close(ends[0]);
    ::close(ends[1]);
    CHECK(place.open().list().value().size() == 60);
}

TEST_CASE("where the journal lies") {
    const auto folder = [](EnvironmentMap variables) {
        return submission::Journal::folder(Environment(std::move(variables))).native();
    };
    CHECK(folder({{"CYBELE_STATE_DIR", "/a"}, {"HOME", "/h"}}) == "/a");
    CHECK(folder({{"XDG_STATE_HOME", "/x"}, {"HOME", "/h"}}) == "/x/cybelectl");
    CHECK(folder({{"HOME", "/h"}}) == "/h/.local/state/cybelectl");
    CHECK(folder({{"XDG_STATE_HOME", "x"}, {"HOME", "/h"}}) == "/h/.local/state/cybelectl");
    CHECK(folder({{"HOME", "h"}}) == "/.local/state/cybelectl");
}
