// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/connection.hpp"
#include "submission/backends/service.hpp"
#include "submission/backends/slurmrest_shapes.hpp"
#include "submission/backends/token.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using submission::Connection;
using submission::State;
using Json = nlohmann::json;
namespace slurmrest = submission::slurmrest;

namespace {

Json parsed(const std::string& text) {
    return Json::parse(text);
}

submission::Submission to_submit() {
    submission::Submission made;
    made.uuid = "0a-1b";
    made.name = "demo";
    made.workdir = "/shared/demo";
    made.record = "/shared/demo/.cybelectl/0a-1b";
    return made;
}

/// One number a name, in the newer form.
Json number(int value) {
    return {{"set", true}, {"infinite", false}, {"number", value}};
}

} // namespace

TEST_CASE("a way is a text and back, whatever its settings hold") {
    const Connection ways[] = {
        {},
        {Connection::Kind::kSsh, "user@login.example", "", ""},
        {Connection::Kind::kSlurmrestd, "https://slurm.example:6820", "", ""},
        {Connection::Kind::kSlurmrestd, "http://127.0.0.1:1", "", "scontrol token lifespan=60"},
        {Connection::Kind::kRimrock, "https://r.example/a b", "login#1", "get & print 100 %"},
    };
    for (const Connection& connection : ways) {
        const std::string text = submission::text_of(connection);
        CAPTURE(text);
        const auto back = submission::read_connection(text);
        REQUIRE(back.has_value());
        CHECK(back->kind == connection.kind);
        CHECK(back->address == connection.address);
        CHECK(back->host == connection.host);
        CHECK(back->token_command == connection.token_command);
    }
    CHECK(submission::shown("slurmrestd+https://s#token-command=x") == "slurmrestd+https://s");
    CHECK_FALSE(submission::read_connection("rimrock+https://s#color=red").has_value());
    CHECK(submission::read_connection("slurmrestd+https://s/").value().address == "https://s");
}

TEST_CASE("a way's text is one word, and holds each byte of its settings") {
    for (int byte = 1; byte < 256; ++byte) {
        CAPTURE(byte);
        const std::string value = std::string("a") + static_cast<char>(byte) + "b";
        for (const bool is_last : {false, true}) {
            const std::string text = submission::text_of(
                {Connection::Kind::kRimrock, "https://r", value, is_last ? value : ""});
            CHECK(std::ranges::none_of(text, [](char c) { return c >= 0 && c <= ' '; }));
            const auto back = submission::read_connection(text);
            REQUIRE(back.has_value());
            CHECK(back->address == "https://r");
            CHECK(back->host == value);
            CHECK(back->token_command == (is_last ? value : ""));
        }
    }
}

TEST_CASE("a token travels by https, or stays on this machine") {
    for (const char* address :
         {"https://a", "http://127.0.0.1:6820", "http://localhost/x", "http://[::1]:1"}) {
        CAPTURE(address);
        CHECK(submission::check_address({Connection::Kind::kSlurmrestd, address, "", ""})
                  .has_value());
    }
    for (const char* address :
         {"http://slurm.example", "http://127.0.0.1.example", "http://localhosts", "ftp://a", ""}) {
        CAPTURE(address);
        CHECK_FALSE(submission::check_address({Connection::Kind::kSlurmrestd, address, "", ""})
                        .has_value());
    }
}

TEST_CASE("the claims of a token are read; what is none has none") {
    // As `scontrol token username=demo` of Slurm 22.05 makes it:
    // {"exp":1795331582,"iat":1795330982,"sun":"root"}.
    const auto claims = submission::read_claims(
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
        "eyJleHAiOjE3OTUzMzE1ODIsImlhdCI6MTc5NTMzMDk4Miwic3VuIjoicm9vdCJ9.c2lnbmF0dXJl");
    CHECK(claims.user == "root");
    CHECK(claims.issued == 1'795'330'982);
    CHECK(claims.expires == 1'795'331'582);
    for (const char* text : {"", "a.b", "a.!!.c", "a.e30.c", "a.W10.c"}) {
        CAPTURE(text);
        CHECK(submission::read_claims(text).user.empty());
        CHECK(submission::read_claims(text).expires == 0);
    }
}

TEST_CASE("a token is kept for most of its life, and asked for again when it is refused") {
    std::int64_t now = 1'795'330'982;
    Environment environment;
    environment.set("PATH", "/usr/bin:/bin");
    const std::string text = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
                             "eyJleHAiOjE3OTUzMzE1ODIsImlhdCI6MTc5NTMzMDk4Miwic3VuIjoicm9vdCJ9.x";
    submission::Token token("printf SLURM_JWT=" + text, environment, [&now] { return now; });
    CHECK(token.get().value_or("") == text);
    now += 479;
    CHECK(token.get().value_or("") == text);
    CHECK(token.renew());
    CHECK(token.get().value_or("") == text);

    submission::Token failing("false", environment, [&now] { return now; });
    CHECK(failing.get().error().code() == ErrorCode::kEnvironment);
    submission::Token silent("true", environment, [&now] { return now; });
    CHECK_FALSE(silent.get().has_value());
    submission::Token lines("printf a\\nX-Other:b", environment, [&now] { return now; });
    CHECK_FALSE(lines.get().has_value());
    submission::Token none("", environment, [&now] { return now; });
    CHECK_FALSE(none.get().has_value());
    CHECK_FALSE(none.renew());
    environment.set("SLURM_JWT", "abc");
    submission::Token variable("", environment, [&now] { return now; });
    CHECK(variable.get().value_or("") == "abc");
}

TEST_CASE("the newest version that both know is chosen") {
    CHECK(
        slurmrest::choose_version(R"({"paths": {"/slurm/v0.0.36/jobs": 1, "/slurm/v0.0.38/jobs": 1,
        "/slurm/v0.0.37/ping/": 1, "/slurmdb/v0.0.40/jobs": 1}})")
            .value_or(0) == 38);
    CHECK(slurmrest::choose_version(
              R"({"paths": {"/slurm/v0.0.41/jobs/": 1, "/slurm/v0.0.99/jobs/": 1}})")
              .value_or(0) == 41);
    for (const char* text : {"",
                             "[]",
                             "{}",
                             R"({"paths": {"/slurm/v0.0.35/jobs": 1}})",
                             R"({"paths": {"/slurm/v0.0.x/": 1}})"}) {
        CAPTURE(text);
        CHECK(slurmrest::choose_version(text).error().code() == ErrorCode::kEnvironment);
    }
}

TEST_CASE("directives become fields, in the form of each version") {
    const std::string script =
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --job-name=demo\n#SBATCH --ntasks=4\n"
        "#SBATCH --mem=2048M\n#SBATCH --time=00:01:30\n#SBATCH --gpus-per-node=2\n"
        "#SBATCH --exclusive\n#SBATCH --mail-type=END,FAIL\n#SBATCH --signal=B:USR1@300\n"
        "#SBATCH --output=\"%x %j.out\"\n#SBATCH --export=ALL\ntrue\n";
    const auto old = parsed(slurmrest::submission_body(to_submit(), script, 38).value());
    CHECK(old["script"] == script);
    const auto& job = old["job"];
    CHECK(job["nodes"] == Json::array({2, 2}));
    CHECK(job["tasks"] == 4);
    CHECK(job["memory_per_node"] == 2048);
    CHECK(job["time_limit"] == 2);
    CHECK(job["gpus_per_node"] == "2");
    CHECK(job["exclusive"] == "true");
    CHECK(job["mail_type"] == "END,FAIL");
    CHECK(job["signal"] == "B:USR1@300");
    CHECK(job["standard_output"] == "%x %j.out");
    CHECK(job["comment"] == "cybelectl:0a-1b");
    CHECK(job["no_requeue"] == true);
    CHECK(job["environment"]["CYBELE_JOB"] == "0a-1b");
    CHECK(job["current_working_directory"] == "/shared/demo");

    const auto recent = parsed(slurmrest::submission_body(to_submit(), script, 42).value())["job"];
    CHECK(recent["nodes"] == "2");
    CHECK(recent["memory_per_node"]["number"] == 2048);
    CHECK(recent["time_limit"]["set"] == true);
    CHECK(recent["tres_per_node"] == "gres/gpu:2");
    CHECK(recent["mail_type"] == Json::array({"END", "FAIL"}));
    CHECK(recent["kill_warning_signal"] == "USR1");
    CHECK(recent["kill_warning_delay"]["number"] == 300);
    CHECK(recent["environment"].is_array());
    CHECK(recent["requeue"] == false);
}

TEST_CASE("a directive without a field is refused, never dropped") {
    for (const char* line : {"#SBATCH --licenses=matlab",
                             "#SBATCH --mem=4G",
                             "#SBATCH --nodes=1-2",
                             "#SBATCH --time=soon"}) {
        CAPTURE(line);
        const auto body = slurmrest::submission_body(
            to_submit(), "#!/bin/bash\n" + std::string(line) + "\ntrue\n", 38);
        CHECK(body.error().code() == ErrorCode::kInput);
    }
}

TEST_CASE("both forms of a job say the same") {
    const Json old = {{"jobs",
                       {{{"job_id", 7},
                         {"job_state", "FAILED"},
                         {"state_reason", "NonZeroExitCode"},
                         {"exit_code", 1792},
                         {"array_job_id", 0},
                         {"array_task_id", nullptr},
                         {"comment", "cybelectl:0a-1b"}}}}};
    const Json recent = {{"jobs",
                          {{{"job_id", 7},
                            {"job_state", Json::array({"FAILED"})},
                            {"state_reason", "NonZeroExitCode"},
                            {"exit_code",
                             {{"status", Json::array({"ERROR"})},
                              {"return_code", number(7)},
                              {"signal", {{"id", {{"set", false}, {"number", 0}}}}}}},
                            {"array_job_id", number(0)},
                            {"array_task_id", {{"set", false}, {"number", 0}}},
                            {"comment", "cybelectl:0a-1b"}}}}};
    for (const Json& answer : {old, recent}) {
        CAPTURE(answer.dump());
        const auto seen = slurmrest::read_jobs(answer);
        REQUIRE(seen.size() == 1);
        CHECK(seen.front().id == "7");
        CHECK(seen.front().state == State::kFailed);
        CHECK(seen.front().code.value_or(-1) == 7);
        CHECK(seen.front().signal == 0);
        CHECK(seen.front().uuid == "0a-1b");
    }
}

TEST_CASE("states, signals and arrays of an answer") {
    const Json answer = {
        {"jobs",
         {{{"job_id", 1}, {"job_state", "CANCELLED"}, {"exit_code", 15}},
          {{"job_id", 2},
           {"job_state", "PENDING"},
           {"state_reason", "JobHeldUser"},
           {"start_time", 0}},
          {{"job_id", 3},
           {"job_state", "PENDING"},
           {"state_reason", "Resources"},
           {"start_time", 1000}},
          {{"job_id", 5}, {"job_state", "RUNNING"}, {"array_job_id", 4}, {"array_task_id", 0}},
          {{"job_id", 4},
           {"job_state", "PENDING"},
           {"array_job_id", 4},
           {"array_task_id", nullptr},
           {"array_task_string", "1-2"}},
          {{"job_id", 9}, {"job_state", "ODD_NEW_WORD"}, {"exit_code", 256}},
          {{"job_state", "RUNNING"}}}}};
    const auto seen = slurmrest::read_jobs(answer);
    REQUIRE(seen.size() == 7);
    CHECK(seen[0].state == State::kCancelled);
    CHECK(seen[0].signal == 15);
    CHECK(seen[1].state == State::kHeld);
    CHECK(seen[2].start == "1000");
    CHECK(seen[3].id == "4_0");
    CHECK(seen[4].id == "4_1");
    CHECK(seen[5].id == "4_2");
    CHECK(seen[6].state == State::kRunning); // listed, so it lives
    CHECK(seen[6].native == "ODD_NEW_WORD");
    for (const char* text : {"[]", "{}", R"({"jobs": 3})", R"({"jobs": [3, null, []]})"}) {
        CAPTURE(text);
        CHECK(slurmrest::read_jobs(parsed(text)).empty());
    }
}

TEST_CASE("a job has a code where it ended by itself, in both forms of an answer") {
    struct Row {
        const char* state;
        int code;
        int signal;
        int expected; ///< -1: none
    };
    for (const Row& row : {Row{"COMPLETED", 0, 0, 0},
                           Row{"FAILED", 5, 0, 5},
                           Row{"FAILED", 0, 9, -1},
                           Row{"TIMEOUT", 0, 0, -1},
                           Row{"CANCELLED", 3, 0, -1},
                           Row{"RUNNING", 4, 0, -1}}) {
        CAPTURE(row.state);
        CAPTURE(row.signal);
        const Json recent = {{"return_code", number(row.code)},
                             {"signal", {{"id", number(row.signal)}}}};
        for (const Json& exit : {Json(row.code * 256 + row.signal), recent}) {
            const auto seen = slurmrest::read_jobs(
                {{"jobs", {{{"job_id", 7}, {"job_state", row.state}, {"exit_code", exit}}}}});
            REQUIRE(seen.size() == 1);
            CHECK(seen.front().code.value_or(-1) == row.expected);
            CHECK(seen.front().signal == row.signal);
        }
    }
}

TEST_CASE("the moment behind which nothing changed is the latest that is past") {
    const Json answer = {
        {"jobs",
         {{{"job_state", "PENDING"}, {"submit_time", 10}, {"start_time", 9999}},
          {{"job_state", "RUNNING"}, {"submit_time", 5}, {"start_time", 20}, {"end_time", 8888}},
          {{"job_state", "COMPLETED"}, {"end_time", 30}, {"last_sched_evaluation", 25}}}}};
    CHECK(slurmrest::newest_moment(answer) == 30);
    CHECK(slurmrest::newest_moment({{"last_update", number(77)}, {"jobs", Json::array()}}) == 77);
    CHECK(slurmrest::newest_moment(Json::object()) == 0);
}

TEST_CASE("a submission is refused only by Slurm's own clear words") {
    using Kind = submission::Receipt::Kind;
    const auto receipt = [](int status, const std::string& body) {
        return slurmrest::read_receipt(status, body);
    };
    CHECK(receipt(200, R"({"job_id": 12, "errors": []})").kind == Kind::kAccepted);
    CHECK(
        receipt(400, R"({"errors": [{"error_number": -1, "error": "Invalid node count"}]})").kind ==
        Kind::kRefused);
    CHECK(receipt(200, R"({"job_id": 12, "errors": []})").id == "12");
    const auto refused = receipt(
        500, R"({"errors": [{"error_code": 2000, "error": "Invalid partition name specified"}]})");
    CHECK(refused.kind == Kind::kRefused);
    CHECK(refused.words.find("Invalid partition name specified") != std::string::npos);
    CHECK(receipt(400, R"({"errors": [{"error_number": 9001, "error": "Failure during parsing"}]})")
              .kind == Kind::kRefused);
    for (
        const char* body :
        {"",
         "<html>",
         "{}",
         R"({"job_id": 0})",
         R"({"errors": [{"error_number": -1, "error": "Unspecified error"}]})",
         R"({"errors": [{"error_number": 1007, "error": "Zero Bytes were transmitted or received"}]})"}) {
        CAPTURE(body);
        CHECK(receipt(500, body).kind == Kind::kUnclear);
        CHECK(receipt(200, body).kind == Kind::kUnclear);
    }
}
