// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/backend_request.hpp"
#include "submission/backends/command_backend.hpp"
#include "submission/backends/pbs.hpp"
#include "submission/connection/make_backend.hpp"
#include "support/file.hpp"
#include "tests/unit/submission/qstat_forms.hpp"

#include <doctest/doctest.h>

using namespace cybele;
using submission::State;

namespace {

std::string recorded(const std::string& name) {
    return read_file(std::string(CYBELE_TESTS_DIR) + "/cases/pbs/" + name).value();
}

Outcome outcome(int code, const std::string& output, const std::string& errors = "") {
    Outcome made;
    made.code = code;
    made.output = output;
    made.errors = errors;
    return made;
}

struct Recorded {
    const char* file;
    const char* id;
    State state;
    int code;   ///< -1: none
    int signal; ///< 0: none
};

submission::JobStatus one_of(const std::vector<submission::JobStatus>& all, const std::string& id) {
    for (const auto& seen : all) {
        if (seen.id == id) {
            return seen;
        }
    }
    FAIL("not listed: " << id);
    return {};
}

} // namespace

TEST_CASE("what real TORQUE and OpenPBS printed of a job is read as it was") {
    const Recorded rows[] = {
        {"torque-6.1.qstat-f-running.txt", "496.head", State::kRunning, -1, 0},
        {"torque-6.1.qstat-f-queued.txt", "499.head", State::kPending, -1, 0},
        {"torque-6.1.qstat-f-waiting.txt", "498.head", State::kPending, -1, 0},
        {"torque-6.1.qstat-f-held.txt", "497.head", State::kHeld, -1, 0},
        {"torque-6.1.qstat-f-finished.txt", "496.head", State::kFailed, 3, 0},
        {"torque-6.1.qstat-f-deleted.txt", "501.head", State::kCancelled, -1, 15},
        {"torque-6.1.qstat-f-deleted-held.txt", "502.head", State::kCancelled, -1, 0},
        {"torque-6.1.qstat-f-element.txt", "500[2].head", State::kRunning, -1, 0},
        {"torque-6.1.qstat-tf-array.txt", "500[3].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-f-running.txt", "387.head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-f-queued.txt", "390.head", State::kPending, -1, 0},
        {"openpbs-23.06.qstat-f-waiting.txt", "389.head", State::kPending, -1, 0},
        {"openpbs-23.06.qstat-f-held.txt", "388.head", State::kHeld, -1, 0},
        {"openpbs-23.06.qstat-f-finished.txt", "387.head", State::kFailed, 3, 0},
        {"openpbs-23.06.qstat-f-deleted.txt", "393.head", State::kCancelled, -1, 15},
        {"openpbs-23.06.qstat-f-deleted-held.txt", "395.head", State::kCancelled, -1, 0},
        {"openpbs-23.06.qstat-f-array.txt", "391[].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-f-array-finished.txt", "391[2].head", State::kDone, 0, 0},
        {"openpbs-23.06.qstat-x-f-dependency-unknown.txt", "118.head", State::kCancelled, -1, 0},
        {"openpbs-23.06.qstat-x-f-afternotok-of-deleted.txt", "117.head", State::kDone, 0, 0},
        {"torque-6.1.qstat-f-held-while-running.txt", "128.head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-f-held-while-running.txt", "113.head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-f-held-by-dependency.txt", "116.head", State::kHeld, -1, 0},
        {"torque-6.1.qstat-f-plain-finished.txt", "496.head", State::kFailed, 3, 0},
        {"torque-6.1.qstat-f-gpus-running.txt", "128.head", State::kRunning, -1, 0},
        {"torque-6.1.qstat-f-exclusive.txt", "131.head", State::kPending, -1, 0},
        {"torque-6.1.qstat-f-array-parent-alone.txt", "122.head", State::kFailed, 3, 0},
        {"torque-6.1.qstat-f-array-parent-alone.txt", "127.head", State::kCancelled, -1, 15},
        {"torque-6.1.qstat-tf-array-slots.txt", "129[1].head", State::kRunning, -1, 0},
        {"torque-6.1.qstat-tf-array-slots.txt", "129[2].head", State::kHeld, -1, 0},
        {"torque-6.1.qstat-tf-element-deleted.txt", "129[1].head", State::kCancelled, -1, 15},
        {"torque-6.1.qstat-tf-element-deleted.txt", "129[2].head", State::kRunning, -1, 0},
        {"torque-6.1.qstat-tf-array-deleted.txt", "129[2].head", State::kCancelled, -1, 15},
        {"torque-6.1.qstat-tf-array-deleted.txt", "129[3].head", State::kCancelled, -1, 0},
        {"openpbs-23.06.qstat-f-element.txt", "391[2].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-tf-array.txt", "391[2].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-f-select.txt", "113.head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-f-exiting.txt", "22.head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-tf-elements-exiting.txt", "3[1].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-tf-elements-exiting.txt", "3[2].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-tf-elements-ended.txt", "21[].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-tf-elements-ended.txt", "21[0].head", State::kFailed, 7, 0},
        {"openpbs-23.06.qstat-x-tf-elements-ended.txt", "21[1].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-tf-elements-ended.txt", "21[2].head", State::kCancelled, -1, 15},
        {"openpbs-23.06.qstat-x-tf-elements-forgotten.txt", "21[0].head", State::kLost, -1, 0},
        {"openpbs-23.06.qstat-x-tf-elements-forgotten.txt", "21[1].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-f-array-limit.txt", "114[2].head", State::kPending, -1, 0},
        {"openpbs-23.06.qstat-x-tf-element-deleted.txt", "114[].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-tf-element-deleted.txt", "114[1].head", State::kRunning, -1, 0},
        {"openpbs-23.06.qstat-x-f-deleted-folded-at-blank.txt",
         "113.head",
         State::kCancelled,
         -1,
         15},
        {"openpbs-23.06.qstat-x-f-afterok-of-deleted.txt", "116.head", State::kCancelled, -1, 0},
    };
    for (const Recorded& row : rows) {
        CAPTURE(row.file);
        const auto commands = std::string(row.file).starts_with("torque")
                                  ? submission::torque_commands()
                                  : submission::pbspro_commands();
        const auto all = commands->statuses({outcome(0, recorded(row.file))});
        REQUIRE(all.has_value());
        const auto seen = one_of(*all, row.id);
        CHECK(seen.state == row.state);
        CHECK(seen.code.value_or(-1) == row.code);
        CHECK(seen.signal == row.signal);
    }
}

TEST_CASE("a server's comment is a reason while the job waits; a failed dependency is one") {
    const auto reason_of = [](const char* file, const char* id) {
        const auto all = submission::pbspro_commands()->statuses({outcome(0, recorded(file))});
        return one_of(all.value(), id).reason;
    };
    CHECK(reason_of("openpbs-23.06.qstat-f-queued.txt", "390.head").starts_with("Not Running: "));
    CHECK(reason_of("openpbs-23.06.qstat-f-running.txt", "387.head").empty());
    CHECK(reason_of("openpbs-23.06.qstat-f-finished.txt", "387.head").empty());
    CHECK(reason_of("openpbs-23.06.qstat-f-deleted-held.txt", "395.head").empty());
    CHECK(reason_of("openpbs-23.06.qstat-x-f-dependency-unknown.txt", "118.head")
              .starts_with("never started: "));
}

TEST_CASE("both forms of qstat say the same") {
    const auto same = [](const std::vector<submission::PbsJob>& text,
                         const std::vector<submission::PbsJob>& machine,
                         std::initializer_list<const char*> names) {
        REQUIRE(text.size() == machine.size());
        for (std::size_t at = 0; at < text.size(); ++at) {
            CHECK(text[at].id == machine[at].id);
            for (const char* name : names) {
                CAPTURE(name);
                CHECK_FALSE(text[at].get(name).empty());
                CHECK(text[at].get(name) == machine[at].get(name));
            }
        }
    };
    const auto names = {"Job_Name", "job_state", "queue", "Output_Path", "Resource_List.walltime"};
    same(submission::read_qstat_text(recorded("torque-6.1.qstat-f-running.txt")),
         qstat::read_qstat_xml(recorded("torque-6.1.qstat-x-running.xml.txt")),
         names);
    same(submission::read_qstat_text(recorded("openpbs-23.06.qstat-f-running.txt")),
         qstat::read_qstat_json(recorded("openpbs-23.06.qstat-f-Fjson-running.txt")),
         names);
    const auto finished =
        qstat::read_qstat_json(recorded("openpbs-23.06.qstat-x-f-Fjson-finished.txt"));
    REQUIRE(finished.size() == 1);
    CHECK(finished.front().get("Exit_status") == "3");
    CHECK(qstat::read_qstat_json(recorded("openpbs-23.06.qstat-Fjson-unknown.txt")).empty());
    CHECK(qstat::read_qstat_json("{").empty());
    CHECK(qstat::read_qstat_json("{\"Jobs\": 3}").empty());
    CHECK(qstat::read_qstat_xml("<Data><Job><Job_Id>1").empty());
}

TEST_CASE("folded lines are joined, and Slurm's qstat is read with its tabs") {
    const auto folded = submission::read_qstat_text(recorded("torque-6.1.qstat-f-running.txt"));
    REQUIRE(folded.size() == 1);
    CHECK(folded.front().get("Variable_List").find(",PBS_O_SHELL=/bin/bash,PBS_O_LANG=C.UTF-8,") !=
          std::string::npos);
    // The blank before a fold is a letter of the value.
    const auto deleted = submission::read_qstat_text(recorded("openpbs-23.06.qstat-f-deleted.txt"));
    REQUIRE(deleted.size() == 1);
    CHECK(deleted.front().get("comment").ends_with(" terminated by alice@head"));
    const auto tabs =
        submission::read_qstat_text("Job Id:\t12\n\tJob_Name = demo\n\tjob_state = C\n"
                                    "\tPriority = 4\n\n");
    REQUIRE(tabs.size() == 1);
    CHECK(tabs.front().id == "12");
    CHECK(tabs.front().get("job_state") == "C");
    // One letter for every end: nobody knows by it how the job ended.
    const auto seen = submission::slurm_torque_commands()->statuses(
        {outcome(0, "Job Id:\t12\n\tjob_state = C\n")});
    REQUIRE(seen.has_value());
    CHECK(seen->front().state == State::kLost);
    CHECK_FALSE(seen->front().code.has_value());
}

TEST_CASE("a listing of qstat that is cut is no answer, wherever inside a job it is cut") {
    for (const char* name : {"torque-6.1.qstat-f-finished.txt",
                             "torque-6.1.qstat-tf-array.txt",
                             "openpbs-23.06.qstat-x-f-array-finished.txt"}) {
        CAPTURE(name);
        const std::string whole = recorded(name);
        CHECK(submission::torque_commands()->statuses({outcome(0, whole)}).has_value());
        const std::size_t begun = whole.rfind("Job Id:") + std::string("Job Id:").size();
        for (std::size_t length = whole.size() - 1; length >= begun; --length) {
            REQUIRE_FALSE(
                submission::torque_commands()->statuses({outcome(0, whole.substr(0, length))}));
        }
    }
}

TEST_CASE("the UUID of a PBS job is in its variables") {
    const auto all = submission::torque_commands()->statuses(
        {outcome(0,
                 "Job Id: 7.head\n    job_state = Q\n    Variable_List = PBS_O_QUEUE=batch,\n"
                 "\tCYBELE_JOB=0a-1b,PBS_O_HOST=head\n\n")});
    REQUIRE(all.has_value());
    CHECK(all->front().uuid == "0a-1b");
}

TEST_CASE("ids that a server does not know are told, in each product's words") {
    const auto ids =
        submission::unknown_ids("qstat: Unknown Job Id Error 9.head\nqstat: Unknown Job Id "
                                "12[].head\nqstat: something else\nqstat: PBS is not "
                                "configured to maintain job history 999.head\n");
    CHECK(ids == std::vector<std::string>{"9.head", "12[].head"});
    const auto seen = submission::torque_commands()->statuses(
        {outcome(153, "", "qstat: Unknown Job Id Error 9.head")});
    REQUIRE(seen.has_value());
    REQUIRE(seen->size() == 1);
    CHECK(seen->front().id == "9.head");
    CHECK(seen->front().is_unknown);
}

TEST_CASE("OpenPBS without history is asked again for the jobs that live") {
    const auto commands = submission::pbspro_commands();
    const auto calls = commands->query({"12[].head", "13.head"});
    using Words = std::vector<std::string>;
    CHECK(calls.front().argv == Words{"qstat", "-x", "-f", "-t", "12[].head", "13.head"});
    CHECK(commands->instead_of(calls, {outcome(0, "Job Id: 13.head\n")}).empty());
    const auto plain = commands->instead_of(
        calls, {outcome(0, "", "qstat: PBS is not configured to maintain job history 13.head")});
    REQUIRE(plain.size() == 1);
    CHECK(plain.front().argv == Words{"qstat", "-f", "-t", "12[].head", "13.head"});
    CHECK(submission::torque_commands()->instead_of(calls, {outcome(153, "", "anything")}).empty());
}

TEST_CASE(
    "an element of OpenPBS without history is shown with its array's code, which counts not") {
    const auto seen = submission::pbspro_commands()->statuses({outcome(
        0,
        "Job Id: 20[1].head\n    job_state = X\n    substate = 70\n    Exit_status = 1\n\n"
        "Job Id: 20[2].head\n    job_state = X\n    substate = 93\n    Exit_status = 6\n\n")});
    REQUIRE(seen.has_value());
    CHECK(seen->at(0).state == State::kLost);
    CHECK_FALSE(seen->at(0).code.has_value());
    CHECK(seen->at(1).state == State::kFailed);
    CHECK(seen->at(1).code == 6);
}

TEST_CASE("what a server wrote to a job that it ended, and where") {
    submission::JobRef job;
    job.id = "79[3].head";
    CHECK(submission::torque_commands()->words_file(job).empty());
    job.name = "wall";
    CHECK(submission::torque_commands()->words_file(job) == "wall.o79-3");
    CHECK(submission::pbspro_commands()->words_file(job) == "wall.o79.3");
    job.id = "79.head";
    CHECK(submission::pbspro_commands()->words_file(job) == "wall.o79");
    const auto commands = submission::pbspro_commands();
    const auto late =
        commands->end_in_words("profile\n=>> PBS: job killed: walltime 8 exceeded limit 5\nbye");
    REQUIRE(late.has_value());
    CHECK(late->state == State::kTimeout);
    CHECK(late->reason == "walltime 8 exceeded limit 5");
    const auto large = commands->end_in_words("=>> PBS: job killed: mem 9kb exceeded limit 5kb");
    REQUIRE(large.has_value());
    CHECK(large->state == State::kFailed);
    CHECK(large->signal == 9);
    CHECK_FALSE(commands->end_in_words("nothing of the kind").has_value());
}

TEST_CASE("jobs that a server does not know are no failed query, other codes are") {
    const auto torque = submission::torque_commands();
    const auto some = torque->statuses({outcome(153,
                                                recorded("torque-6.1.qstat-f-running.txt"),
                                                "qstat: Unknown Job Id Error 99999.head")});
    REQUIRE(some.has_value());
    REQUIRE(some->size() == 2);
    CHECK_FALSE(some->front().is_unknown);
    CHECK(some->back().is_unknown);
    const auto finished =
        submission::pbspro_commands()->statuses({outcome(35, "", "has finished")});
    REQUIRE(finished.has_value());
    CHECK(finished->empty());
    CHECK_FALSE(torque->statuses({outcome(111, "", "errno=111")}).has_value());
    CHECK_FALSE(submission::pbspro_commands()
                    ->statuses({outcome(255, "", "cannot connect to server head (errno=15010)")})
                    .has_value());
    Outcome hung = outcome(0, recorded("torque-6.1.qstat-f-running.txt"));
    hung.timed_out = true;
    CHECK_FALSE(torque->statuses({hung}).has_value());
}

TEST_CASE("a receipt is an id, a clear refusal, or unclear") {
    using Kind = submission::Receipt::Kind;
    struct Row {
        int code;
        const char* output;
        const char* errors;
        Kind kind;
        const char* id;
    };
    const Row slurm[] = {
        {0, "1234\n", "", Kind::kAccepted, "1234"},
        {0, "1234;hall\n", "", Kind::kAccepted, "1234"},
        {0, "", "", Kind::kUnclear, ""},
        {1,
         "",
         "sbatch: error: Batch job submission failed: Invalid partition name specified",
         Kind::kRefused,
         ""},
        {1,
         "",
         "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
         Kind::kUnclear,
         ""},
        {1,
         "",
         "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
         Kind::kUnclear,
         ""},
        {1,
         "",
         "sbatch: error: Batch job submission failed: Unable to contact slurm controller "
         "(connect failure)",
         Kind::kUnreachable,
         ""},
        {1,
         "",
         "sbatch: error: _establish_config_source: failed to fetch config\nsbatch: fatal: Could "
         "not "
         "establish a configuration source",
         Kind::kUnreachable,
         ""},
        // munge is not there: the request was never sent; the answer could not be read: it was done
        {1,
         "",
         "sbatch: error: slurm_send_node_msg: auth_g_create: REQUEST_SUBMIT_BATCH_JOB has "
         "authentication error\nsbatch: error: Batch job submission failed: Protocol "
         "authentication error",
         Kind::kUnreachable,
         ""},
        {1,
         "",
         "sbatch: error: slurm_unpack_received_msg: [[ctl]:6817] auth_g_verify: "
         "RESPONSE_SUBMIT_BATCH_JOB has authentication error: Unspecified error\nsbatch: error: "
         "Batch job submission failed: Unspecified error",
         Kind::kUnclear,
         ""},
        {1, "", "", Kind::kUnclear, ""},
        {1, "", "Killed", Kind::kUnclear, ""},
    };
    for (const Row& row : slurm) {
        CAPTURE(row.errors);
        const auto receipt =
            submission::slurm_commands()->receipt(outcome(row.code, row.output, row.errors));
        CHECK(receipt.kind == row.kind);
        CHECK(receipt.id == row.id);
    }
    const Row pbs[] = {
        {0, "12.head\n", "", Kind::kAccepted, "12.head"},
        {0, "welcome\n12[].head\n", "", Kind::kAccepted, "12[].head"},
        {0, "thank you\n", "", Kind::kUnclear, ""},
        {172, "", "qsub: submit error (Unknown queue MSG=cannot locate queue)", Kind::kRefused, ""},
        {170, "", "qsub: Unknown queue", Kind::kRefused, ""},
        {162, "", "qsub: cannot connect to server head (errno=15010)", Kind::kUnreachable, ""},
        {1, "", "perl: fatal: Could not establish a configuration source", Kind::kUnreachable, ""},
        {1, "", "qsub: End of File", Kind::kUnclear, ""},
        {1, "", "", Kind::kUnclear, ""},
    };
    for (const Row& row : pbs) {
        CAPTURE(row.errors);
        const auto receipt =
            submission::torque_commands()->receipt(outcome(row.code, row.output, row.errors));
        CHECK(receipt.kind == row.kind);
        CHECK(receipt.id == row.id);
    }
}

TEST_CASE("squeue's lines: comments with bars, words that nobody knows, held jobs") {
    const auto seen = submission::slurm_commands()->statuses(
        {outcome(0,
                 "7|7|RUNNING|None|1795258529|n[1-2]|cybelectl:0a-1b\n"
                 "8_3|8|PENDING|JobHeldUser|N/A||a|b|c\n"
                 "9|9|CANCELLED by 1000|None|N/A||(null)\n"
                 "10|10|BRAND_NEW|None|N/A||(null)\n"
                 "11|11|PENDING|Priority|1795258600||(null)\n"
                 "garbage\n")});
    REQUIRE(seen.has_value());
    REQUIRE(seen->size() == 5);
    CHECK((*seen)[0].uuid == "0a-1b");
    CHECK((*seen)[0].state == State::kRunning);
    CHECK((*seen)[0].node == "n[1-2]");
    CHECK((*seen)[1].state == State::kHeld);
    CHECK((*seen)[1].id == "8_3");
    CHECK((*seen)[1].uuid.empty());
    CHECK((*seen)[2].state == State::kCancelled);
    CHECK((*seen)[3].state == State::kRunning);
    CHECK((*seen)[3].native == "BRAND_NEW");
    CHECK((*seen)[4].start == "1795258600");
    CHECK((*seen)[4].reason == "Priority");
    CHECK_FALSE(submission::slurm_commands()
                    ->statuses({outcome(1, "", "slurm_load_jobs error: Unable to contact")})
                    .has_value());
}

TEST_CASE("options of a script that the command line would replace are kept") {
    launchers::Job job;
    submission::Submission submission;
    submission.job = &job;
    submission.uuid = "0a-1b";
    submission.script = "job.sh";
    const auto words = [&](const submission::Commands& commands, const std::string& directives) {
        submission.script_text = "#!/bin/bash\n" + directives + "true\n";
        std::string text;
        for (const std::string& word : commands.submission(submission).argv) {
            text += (text.empty() ? "" : "|") + word;
        }
        return text;
    };
    const auto slurm = submission::slurm_commands();
    CHECK(words(*slurm, "") ==
          "sbatch|--parsable|--ignore-pbs|--comment=cybelectl:0a-1b|--no-requeue|job.sh");
    CHECK(words(*slurm, "#SBATCH --comment='a b' --requeue\n") ==
          "sbatch|--parsable|--ignore-pbs|--comment=cybelectl:0a-1b a b|job.sh");
    CHECK(words(*submission::torque_commands(), "") == "qsub|-r|n|-v|CYBELE_JOB=0a-1b|job.sh");
    CHECK(words(*submission::torque_commands(), "#PBS -r y\n#PBS -v A=1,B=2\n") ==
          "qsub|-v|CYBELE_JOB=0a-1b,A=1,B=2|job.sh");
    const auto seen =
        slurm->statuses({outcome(0, "7|7|RUNNING|None|1795258529|n1|cybelectl:0a-1b a b\n")});
    REQUIRE(seen.has_value());
    CHECK(seen->front().uuid == "0a-1b");
}

TEST_CASE("scontrol and sacct tell the end; a job that was killed has no code of its own") {
    const auto found = submission::slurm_commands()->findings(
        {outcome(0,
                 "JobId=7 UserId=alice(1000) JobState=FAILED Reason=NonZeroExitCode Restarts=2 "
                 "ExitCode=3:0 StartTime=1795258529 Comment=cybelectl:0a-1b A=b\n"),
         outcome(0, "JobId=8 JobName=x JobState=FAILED Reason=None ExitCode=0:9\n"),
         outcome(0, "JobId=9 JobName=x JobState=RUNNING Reason=None ExitCode=0:0\n"),
         outcome(1, "", "slurm_load_jobs error: Invalid job id specified"),
         outcome(0,
                 "12|COMPLETED|0:0|None|bob|17|cybelectl:0a-1c\n13|CANCELLED by 1|0:15|||||\n")});
    REQUIRE(found.size() == 5);
    CHECK(found[0].owner + found[0].uuid == "alice0a-1b");
    CHECK(found[0].began + found[0].restarts == 1795258531);
    CHECK(found[0].code == 3);
    CHECK(found[0].reason == "NonZeroExitCode");
    CHECK_FALSE(found[1].code.has_value());
    CHECK(found[1].signal == 9);
    CHECK(found[2].state == State::kRunning);
    CHECK_FALSE(found[2].code.has_value());
    CHECK(found[3].id + found[3].owner + found[3].uuid + found[1].uuid == "12bob0a-1c");
    CHECK(found[3].code == 0);
    CHECK(found[4].state == State::kCancelled);
}

TEST_CASE("one query asks for any number of jobs") {
    std::vector<std::string> ids;
    for (int id = 1; id <= 500; ++id) {
        ids.push_back(std::to_string(id));
    }
    CHECK(submission::slurm_commands()->query(ids).size() == 1);
    CHECK(submission::torque_commands()->query(ids).size() == 1);
    CHECK(submission::pbspro_commands()->query(ids).size() == 1);
}

TEST_CASE("an unknown scheduler is refused with those that are known") {
    submission::BackendRequest request;
    request.scheduler = "lsf";
    const auto backend = submission::make_backend(request);
    REQUIRE_FALSE(backend.has_value());
    CHECK(backend.error().faults().front().because.find("pbspro") != std::string::npos);
}

TEST_CASE("each batch system holds and releases by its own commands, each job by itself") {
    struct Row {
        std::unique_ptr<submission::Commands> commands;
        std::string hold;
        std::string release;
    };
    Row rows[] = {{submission::slurm_commands(), "scontrol hold", "scontrol release"},
                  {submission::torque_commands(), "qhold", "qrls"},
                  {submission::slurm_torque_commands(), "qhold", "qrls"},
                  {submission::pbspro_commands(), "qhold", "qrls"}};
    for (const Row& row : rows) {
        for (const bool is_held : {true, false}) {
            const auto calls = row.commands->holding({"12.head", "13[2].head"}, is_held);
            REQUIRE(calls.size() == 2);
            std::string words;
            for (const std::string& word : calls.back().argv) {
                words += (words.empty() ? "" : " ") + word;
            }
            CHECK(words == (is_held ? row.hold : row.release) + " 13[2].head");
            CHECK(calls.front().argv.back() == "12.head");
        }
    }
}
