// SPDX-License-Identifier: Apache-2.0
// A submission step by step with a scheduler and a clock of the test: once, whatever happens in
// between.
#include "submission/backends/command_backend.hpp"
#include "submission/follow/poll.hpp"
#include "submission/local/local_job.hpp"
#include "submission/records/process_identity.hpp"
#include "submission/submit/submit.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <csignal>
#include <functional>
#include <utility>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;
using submission::Receipt;
using submission::State;
namespace fs = std::filesystem;

namespace {

/// What the scheduler of the test says, and what it was asked.
struct Talk {
    Receipt receipt{Receipt::Kind::kAccepted, "7", {}};
    std::optional<std::string> found; ///< by find()
    std::function<void(const submission::Submission&)> on_submit;
    int submissions = 0;
    int searches = 0;
    std::vector<std::string> unset;
};

class FakeScheduler : public submission::Backend {
public:
    explicit FakeScheduler(Talk& talk) : talk_(talk) {}
    Receipt submit(const submission::Submission& submission) override {
        ++talk_.submissions;
        talk_.unset = submission.unset;
        if (talk_.on_submit) {
            talk_.on_submit(submission);
        }
        return talk_.receipt;
    }
    submission::QueryResult look(const std::vector<submission::JobRef>& /*jobs*/,
                                 const std::vector<submission::Reading>& /*files*/) override {
        return {};
    }
    submission::QueryResult inquire(const std::vector<submission::JobRef>& /*jobs*/) override {
        return {};
    }
    Result<std::optional<std::string>> find(const submission::JobRef& /*job*/) override {
        ++talk_.searches;
        return talk_.found;
    }
    Result<void> cancel(const std::vector<submission::JobRef>& /*jobs*/) override {
        return {};
    }

private:
    Talk& talk_;
};

struct Bench {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    Environment environment{
        EnvironmentMap{{"CYBELE_STATE_DIR", (directory.path() / "state").native()}}};
    Talk talk;
    std::int64_t now = 1000;
    submission::JobContext context;
    SignalWatch signals;
    submission::HandOverRequest request;
    submission::RenderedJob ready;

    explicit Bench(const std::string& workdir = "work")
        : context(submission::JobContext::open(environment, [this] { return now; }).value()) {
        const fs::path folder = directory.path() / workdir;
        fs::create_directories(folder);
        ready.input.dialect = "slurm";
        ready.input.job.name = "wheat";
        ready.input.job.folder = folder;
        ready.script = "#!/bin/sh\nexit 3\n";
        use("");
    }
    void use(const std::string& login) {
        submission::Entry like;
        like.scheduler = "slurm";
        like.login = login;
        context.use(like, std::make_unique<FakeScheduler>(talk));
    }
    Result<submission::Submitted> submit() {
        return submission::submit_once(context, ready, request, environment, signals);
    }
    [[nodiscard]] std::vector<submission::Entry> entries() const {
        return context.journal().list().value();
    }
    /// As a client that died when it had asked the scheduler leaves the journal.
    void die_before_the_answer() {
        REQUIRE(submit().has_value());
        submission::Entry left = entries().back();
        left.id.clear();
        left.state = State::kSubmitting;
        left.submitted = 0;
        left.client = dead_process();
        REQUIRE(context.journal().put(left).has_value());
    }
    static std::string dead_process() {
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::pause();
            ::_exit(0);
        }
        std::string id = submission::text_of(submission::id_of_process(pid));
        ::kill(pid, SIGKILL);
        (void)wait_for(pid);
        return id;
    }
};

bool holds(const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

} // namespace

TEST_CASE("where the commands of the batch system are missing, the help says where to submit") {
    Bench bench;
    submission::Entry like;
    like.scheduler = "slurm";
    const Environment without(EnvironmentMap{{"PATH", "/nowhere"}});
    bench.environment.set("PATH", "/nowhere");
    bench.context.use(like,
                      submission::command_backend(submission::slurm_commands(),
                                                  submission::this_machine(without)));
    const auto refused = bench.submit();
    REQUIRE_FALSE(refused.has_value());
    const Fault& fault = refused.error().faults().front();
    CHECK(fault.id == "scheduler-unreachable");
    CHECK(fault.help.find("`--scheduler local`") != std::string::npos);
    bench.talk.receipt = {Receipt::Kind::kUnreachable, "", "the controller is not here"};
    bench.use("");
    CHECK(bench.submit().error().faults().front().help == "submit again when it answers");
}

TEST_CASE("a submission of another login node is waited for as long as it can be in progress") {
    Bench bench;
    bench.talk.found = "7";
    bench.die_before_the_answer();
    submission::Entry entry = bench.entries().back();
    entry.client = "1 2 boot-of-b login-b";
    CHECK(submission::read_process_id(entry.client)->is_elsewhere());
    REQUIRE(bench.context.journal().put(entry).has_value());
    bench.now += submission::kSearchSeconds - 1;
    CHECK_FALSE(submission::resolve(bench.context, entry).value());
    CHECK(bench.talk.searches == 0);
    submission::Entry acknowledged = entry;
    acknowledged.id = "8";
    acknowledged.state = State::kPending;
    REQUIRE(bench.context.journal().put(acknowledged).has_value());
    CHECK(submission::resolve(bench.context, entry).value());
    CHECK(entry.id == "8");
    CHECK(bench.talk.searches == 0);
    CHECK_FALSE(bench.submit()->was_there); // that is another job
    CHECK(bench.talk.submissions == 2);
    // One that was never acknowledged is looked for when it cannot be in progress any more.
    acknowledged.id.clear();
    acknowledged.state = State::kSubmitting;
    REQUIRE(bench.context.journal().put(acknowledged).has_value());
    ++bench.now;
    CHECK(submission::resolve(bench.context, acknowledged).value());
    CHECK(acknowledged.client == submission::kFound);

    const auto own = submission::id_of_process(::getpid());
    CHECK_FALSE(own.is_elsewhere());
    CHECK(submission::read_process_id(submission::text_of(own))->is_alive());
    // Of this machine before it was started again, and as earlier versions wrote it.
    CHECK_FALSE(submission::ProcessIdentity{1, "2", "other-boot", own.host}.is_elsewhere());
    CHECK_FALSE(submission::read_process_id("1 2 other-boot")->is_elsewhere());
}

TEST_CASE(
    "the intent is in the journal when the scheduler is asked, and its id when that is known") {
    Bench bench;
    bench.talk.on_submit = [&bench](const submission::Submission& submission) {
        const auto kept = bench.entries();
        REQUIRE(kept.size() == 1);
        CHECK(kept.front().uuid == submission.uuid);
        CHECK(kept.front().state == State::kSubmitting);
        CHECK(kept.front().id.empty());
        CHECK(kept.front().asked == 1000);
        CHECK(read_file(submission.script).value() == "#!/bin/sh\nexit 3\n");
        bench.now = 1005;
    };
    const auto done = bench.submit();
    REQUIRE(done.has_value());
    CHECK_FALSE(done->was_there);
    const auto kept = bench.entries();
    REQUIRE(kept.size() == 1);
    CHECK(kept.front().id == "7");
    CHECK(kept.front().state == State::kPending);
    CHECK(kept.front().submitted == 1005);
    CHECK(kept.front().standard_output.ends_with("/work/wheat-7.out"));
}

TEST_CASE(
    "a client that died before the answer: the job that arrived is taken up, not submitted again") {
    Bench bench;
    bench.die_before_the_answer();
    bench.talk.found = "41";
    const auto done = bench.submit();
    REQUIRE(done.has_value());
    CHECK(done->was_there);
    CHECK(done->entry.id == "41");
    CHECK(bench.talk.submissions == 1);
    CHECK(bench.entries().size() == 1);
}

TEST_CASE(
    "a client that died before the answer: one that never arrived is submitted when that is sure") {
    Bench bench;
    bench.die_before_the_answer();
    bench.now += submission::kSearchSeconds;
    const auto done = bench.submit();
    REQUIRE(done.has_value());
    CHECK_FALSE(done->was_there);
    CHECK(bench.talk.submissions == 2);
    REQUIRE(bench.entries().size() == 2);
    CHECK(bench.entries().front().state == State::kNotSubmitted);
    CHECK(bench.entries().front().ended == bench.now);
}

TEST_CASE("another script, and other arguments, are another job") {
    Bench bench;
    bench.ready.own = submission::OwnScript{"a.sh", "none", {"/bin/sh"}, {"one"}, ""};
    bench.die_before_the_answer();
    bench.talk.found = "41";
    bench.ready.own->arguments = {"two"};
    CHECK_FALSE(bench.submit()->was_there);
    bench.ready.own->arguments = {"one"};
    bench.ready.script += "# other\n";
    CHECK_FALSE(bench.submit()->was_there);
    CHECK(bench.talk.submissions == 3);
    CHECK(bench.talk.searches == 0);
}

TEST_CASE("a submission that another client makes right now is left to it") {
    Bench bench;
    bench.die_before_the_answer();
    const pid_t other = ::fork();
    if (other == 0) {
        ::pause();
        ::_exit(0);
    }
    submission::Entry theirs = bench.entries().front();
    theirs.client = submission::text_of(submission::id_of_process(other));
    REQUIRE(bench.context.journal().put(theirs).has_value());
    const auto done = bench.submit();
    ::kill(other, SIGKILL);
    (void)wait_for(other);
    REQUIRE(done.has_value());
    CHECK_FALSE(done->was_there);
    CHECK(bench.talk.submissions == 2);
    CHECK(bench.talk.searches == 0);
}

TEST_CASE("a client that acknowledges its job and ends while another looks keeps it: two jobs") {
    Bench bench;
    bench.die_before_the_answer();
    const submission::Entry read = bench.entries().front();
    bench.request.on_word = [&](const std::string&) { // after the entry was read
        submission::Entry theirs = read;
        theirs.id = "7";
        theirs.state = State::kPending;
        REQUIRE(bench.context.journal().put(theirs).has_value());
    };
    bench.talk.found = "7";
    bench.talk.receipt.id = "8";
    const auto done = bench.submit();
    REQUIRE(done.has_value());
    CHECK_FALSE(done->was_there);
    CHECK(done->entry.id == "8");
    CHECK(bench.talk.submissions == 2);
    CHECK(bench.talk.searches == 0);
    CHECK(bench.entries().front().client == read.client);
}

TEST_CASE("an unclear answer is searched for by the same client, and never asked for again") {
    Bench bench;
    bench.talk.receipt = {Receipt::Kind::kUnclear, {}, "Socket timed out"};
    bench.talk.found = "9";
    const auto done = bench.submit();
    REQUIRE(done.has_value());
    CHECK(done->entry.id == "9");
    CHECK(bench.entries().front().id == "9");
    bench.talk.found.reset();
    bench.talk.on_submit = [&bench](const submission::Submission&) {
        bench.talk.found = std::nullopt;
    };
    bench.talk.receipt.words = "again";
    bench.request.on_word = [&bench](const std::string&) {
        bench.now += submission::kSearchSeconds;
    };
    const auto lost = bench.submit();
    REQUIRE_FALSE(lost.has_value());
    CHECK(lost.error().code() == ErrorCode::kEnvironment);
    CHECK(lost.error().message() == "slurm did not accept the job; nothing was submitted");
    CHECK(bench.talk.submissions == 2);
    CHECK(bench.entries().back().state == State::kNotSubmitted);
}

TEST_CASE("a refused job keeps no record here, and one of another machine is left as it is") {
    Bench bench;
    bench.talk.receipt = {Receipt::Kind::kRefused, {}, "sbatch: error: no\nsuch queue"};
    const auto refused = bench.submit();
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == ErrorCode::kExecution);
    const submission::Entry kept = bench.entries().front();
    CHECK(kept.state == State::kNotSubmitted);
    CHECK(kept.reason == "sbatch: error: no; such queue");
    CHECK(kept.ended == 1000);
    CHECK_FALSE(fs::exists(kept.record));
    bench.use("login.example");
    submission::Submitted remote;
    remote.entry = kept;
    remote.entry.login = "login.example";
    remote.entry.ended = 0;
    fs::create_directories(remote.entry.record);
    REQUIRE_FALSE(submission::hand_over(bench.context, remote, {}, {}, bench.signals).has_value());
    CHECK(fs::exists(remote.entry.record));
}

TEST_CASE(
    "variables by which sbatch overrules the script are taken away, others where the Job says it") {
    const std::pair<const char*, std::function<void(launchers::Job&)>> rows[] = {
        {"SBATCH_TIMELIMIT",
         [](launchers::Job& job) { job.resources.time = std::chrono::seconds(70); }},
        {"SBATCH_PARTITION", [](launchers::Job& job) { job.queue = "q"; }},
        {"SBATCH_ACCOUNT", [](launchers::Job& job) { job.account = "a"; }},
        {"SBATCH_QOS", [](launchers::Job& job) { job.qos = "o"; }},
        {"SBATCH_RESERVATION", [](launchers::Job& job) { job.reservation = "r"; }},
        {"SBATCH_THREADS_PER_CORE",
         [](launchers::Job& job) { job.resources.threads_per_core = 1; }}};
    for (const auto& [name, set] : rows) {
        CAPTURE(name);
        Bench bench;
        REQUIRE(bench.submit().has_value());
        for (const char* always : {"SBATCH_OUTPUT",
                                   "SBATCH_OPEN_MODE",
                                   "SBATCH_NO_REQUEUE",
                                   "SBATCH_GPUS",
                                   "SBATCH_GPUS_PER_TASK",
                                   "SBATCH_GRES",
                                   "SBATCH_CPUS_PER_GPU",
                                   "SBATCH_MEM_PER_GPU"}) {
            CHECK(holds(bench.talk.unset, always));
        }
        CHECK_FALSE(holds(bench.talk.unset, name));
        set(bench.ready.input.job);
        REQUIRE(bench.submit().has_value());
        CHECK(holds(bench.talk.unset, name));
    }
}

TEST_CASE("a job is waited for as its Site says; a script that leaves no record, else for 30 s") {
    const auto patience = [](bool is_own, std::optional<std::chrono::seconds> of_site) {
        Bench bench;
        if (is_own) {
            bench.ready.own = submission::OwnScript{"a.sh", "none", {"/bin/sh"}, {}, ""};
        }
        bench.ready.input.site.emplace().patience = of_site;
        REQUIRE(bench.submit().has_value());
        return bench.entries().front().patience;
    };
    CHECK(patience(false, std::nullopt) == 0); // as usual
    CHECK(patience(true, std::nullopt) == 30);
    CHECK(patience(false, std::chrono::seconds(7)) == 7);
    CHECK(patience(true, std::chrono::seconds(70)) == 70);
    CHECK(patience(false, std::chrono::seconds(0)) == 1); // not the usual one
    Bench bench;
    bench.ready.own = submission::OwnScript{"a.sh", "none", {"/bin/sh"}, {}, ""};
    REQUIRE(bench.submit().has_value()); // without a Site
    CHECK(bench.entries().front().patience == 30);
}

TEST_CASE("a directory whose name looks like a pattern is the one where the output is") {
    Bench bench("run%j%%x");
    REQUIRE(bench.submit().has_value());
    CHECK(bench.entries().front().standard_output ==
          (bench.directory.path() / "run%j%%x" / "wheat-7.out").native());
}
