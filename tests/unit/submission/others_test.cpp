// SPDX-License-Identifier: Apache-2.0
// Two clients of one journal whose scheduler forgets a job as soon as it has ended.
#include "submission/follow/begun.hpp"
#include "submission/follow/poll.hpp"
#include "submission/journal/array.hpp"
#include "submission/records/record.hpp"
#include "support/file.hpp"

#include <doctest/doctest.h>

using namespace cybele;
using submission::Entry;
using submission::State;

namespace {

/// Knows no job any more.
class ForgetfulScheduler : public submission::Backend {
public:
    submission::Receipt submit(const submission::Submission& /*submission*/) override {
        return {};
    }
    submission::QueryResult look(const std::vector<submission::JobRef>& jobs,
                                 const std::vector<submission::Reading>& files) override {
        submission::QueryResult result;
        for (const submission::JobRef& job : jobs) {
            submission::JobStatus status;
            status.id = job.id;
            status.is_unknown = true;
            result.seen.push_back(status);
        }
        result.files.resize(files.size());
        return result;
    }
    submission::QueryResult inquire(const std::vector<submission::JobRef>& /*jobs*/) override {
        return {};
    }
    Result<std::optional<std::string>> find(const submission::JobRef& /*job*/) override {
        return std::optional<std::string>();
    }
    Result<void> cancel(const std::vector<submission::JobRef>& /*jobs*/) override {
        return {};
    }
};

struct TwoClients {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    Environment environment{
        EnvironmentMap{{"CYBELE_STATE_DIR", (directory.path() / "state").native()}}};
    std::int64_t now = 1000;
    submission::JobContext waits = client();
    submission::JobContext cancels = client();
    std::vector<Entry> seen; ///< as the one that waits has it

    explicit TwoClients(const std::string& array = "") {
        Entry job;
        job.uuid = "0b2f8a4e-5c3d-4e6f-8a9b-1c2d3e4f5a6b";
        job.scheduler = "torque";
        job.id = array.empty() ? "7.head" : "7[].head";
        job.array = array;
        job.state = State::kRunning;
        job.record = (directory.path() / "record").native();
        REQUIRE(waits.journal().put(job).has_value());
        seen = {job};
    }
    submission::JobContext client() {
        auto context = submission::JobContext::open(environment, [this] { return now; }).value();
        Entry like;
        like.scheduler = "torque";
        context.use(like, std::make_unique<ForgetfulScheduler>());
        return context;
    }
    void look() {
        now += 5;
        REQUIRE(submission::ask(waits, seen).has_value());
    }
    /// The other client asks for the end of the job.
    void cancel() {
        std::vector<Entry> jobs = cancels.journal().list().value();
        jobs.front().cancel_asked = now;
        REQUIRE(submission::ask_to_cancel(cancels, jobs).has_value());
    }
};

} // namespace

TEST_CASE("who waits knows that another client cancelled the job, which left no record") {
    for (const char* array : {"", "2-3"}) {
        CAPTURE(array);
        TwoClients clients(array);
        clients.cancel();
        clients.look();
        CHECK(clients.seen.front().state == State::kRunning); // a server may say so once
        clients.look();
        clients.look();
        CHECK(clients.seen.front().state == State::kCancelled);
        CHECK(clients.seen.front().ended != 0);
        const Entry kept = clients.cancels.journal().list().value().front();
        CHECK(kept.state == State::kCancelled);
        CHECK(kept.cancel_asked == 1000);
    }
}

TEST_CASE("what one client writes of a job does not undo that another asked for its end") {
    TwoClients clients;
    clients.cancel();
    clients.seen.front().native = "R";
    REQUIRE(clients.waits.journal().put(clients.seen).has_value());
    CHECK(clients.cancels.journal().list().value().front().cancel_asked == 1000);
}

TEST_CASE("who waits takes over the end that another client has seen") {
    TwoClients clients;
    clients.look(); // missing for the first time
    std::vector<Entry> jobs = clients.cancels.journal().list().value();
    jobs.front().state = State::kFailed;
    jobs.front().code = 9;
    jobs.front().ended = 1003;
    REQUIRE(clients.cancels.journal().put(jobs).has_value());
    clients.look();
    CHECK(clients.seen.front().state == State::kFailed);
    CHECK(clients.seen.front().code == 9);
}

TEST_CASE(
    "a job that nobody cancelled, and that its scheduler forgot, is lost only after the patience") {
    TwoClients clients;
    clients.waits.patience = 60;
    clients.look();
    clients.look();
    CHECK(clients.seen.front().ended == 0);
    clients.now += 60;
    clients.look();
    CHECK(clients.seen.front().state == State::kLost);
}

TEST_CASE("a job whose output the server still has to bring has not ended, for a moment") {
    struct Row {
        const char* output;
        const char* login;
        bool waits;
    };
    for (const Row& row : {Row{"wheat.o7", "", true},
                           Row{"wheat.o8", "", false},
                           Row{"wheat-7.out", "", false},
                           Row{"wheat.o7", "login", false}}) {
        CAPTURE(row.output);
        CAPTURE(row.login);
        TwoClients clients;
        Entry& job = clients.seen.front();
        job.standard_output = (clients.directory.path() / row.output).native();
        job.login = row.login;
        CHECK(submission::is_output_to_come(job, 1000, 1009) == row.waits);
        CHECK_FALSE(submission::is_output_to_come(job, 1000, 1010));
        CHECK_FALSE(submission::is_output_to_come(job, 0, 1000)); // when it ended is not known
    }
    for (const bool is_brought : {true, false}) {
        TwoClients clients;
        Entry& job = clients.seen.front();
        job.standard_output = (clients.directory.path() / "wheat.o7").native();
        submission::ExitRecord record;
        record.uuid = job.uuid;
        record.state = "failed";
        record.code = 5;
        record.start = 990;
        record.end = 1000;
        std::filesystem::create_directory(job.record);
        REQUIRE(submission::write_exit_record(job.record, record).has_value());
        REQUIRE(submission::look_at_records(clients.waits, clients.seen).has_value());
        CHECK(job.ended == 0);
        if (is_brought) {
            REQUIRE(write_file(job.standard_output, "text").has_value());
        } else {
            clients.now += submission::kDeliverySeconds;
        }
        REQUIRE(submission::look_at_records(clients.waits, clients.seen).has_value());
        CHECK(job.ended == 1000);
        CHECK(job.code == 5);
    }
}
