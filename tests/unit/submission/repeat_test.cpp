// SPDX-License-Identifier: Apache-2.0
// A job that is submitted again: what of it, from which record, and what is another than before.
#include "submission/journal/array.hpp"
#include "submission/submit/differences.hpp"
#include "submission/submit/resubmit.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A job of an array, all of whose elements ended well, with its document.
struct Again {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    fs::path document = directory.path() / "job.yaml";
    Environment environment{
        EnvironmentMap{{"CYBELE_STATE_DIR", (directory.path() / "state").native()}}};
    Entry job;
    std::vector<Entry> elements;

    explicit Again(const std::string& array = "2-9") {
        REQUIRE(write_file(document, "name: demo\n"));
        job.uuid = "0a1b2c3d-0000-4000-8000-000000000001";
        job.id = "12";
        job.scheduler = "slurm";
        job.state = State::kDone;
        job.ended = 100;
        job.job = document.native();
        job.request = "{}";
        job.array = array;
        elements = elements_of(job);
        for (Entry& element : elements) {
            element.state = State::kDone;
        }
    }
    void end(std::int64_t index, State state, const std::string& native = "") {
        for (Entry& element : elements) {
            if (element.index == index) {
                element.state = state;
                element.native = native;
            }
        }
    }
    [[nodiscard]] Result<JobRequest> again(const RepeatChoice& choice = {}) const {
        return repeat_request(job, elements, choice);
    }
    /// The array of the next submission, or the id of the problem.
    [[nodiscard]] std::string array(const RepeatChoice& choice) const {
        const auto request = again(choice);
        return request ? request->overrides.array.value_or("the Job's")
                       : request.error().faults().front().id;
    }
    [[nodiscard]] std::string failed() const {
        RepeatChoice choice;
        choice.failed = true;
        return array(choice);
    }
    [[nodiscard]] std::string chosen(const std::string& text) const {
        RepeatChoice choice;
        choice.array = text;
        return array(choice);
    }
};

} // namespace

TEST_CASE("repeat: all of a job, or the elements that did not end well") {
    Again at;
    CHECK(at.array({}) == "2-9");
    CHECK(at.failed() == "nothing-to-resubmit");
    at.end(4, State::kFailed);
    CHECK(at.failed() == "4");
    at.end(5, State::kTimeout);
    at.end(9, State::kCancelled);
    CHECK(at.failed() == "4-5,9");
    at.job.array = "2-9%3"; // how many run at a time stays
    CHECK(at.failed() == "4-5,9%3");
    for (std::int64_t index = 2; index <= 9; ++index) {
        at.end(index, State::kFailed);
    }
    CHECK(at.failed() == "2-9%3");
}

TEST_CASE("repeat: elements that are named must be the job's") {
    Again at;
    CHECK(at.chosen("3-4") == "3-4");
    CHECK(at.chosen("4,3,4") == "3-4");
    CHECK(at.chosen("2-9") == "2-9");
    CHECK(at.chosen("1") == "elements-missing");
    CHECK(at.chosen("9-10") == "elements-missing");
    CHECK(at.chosen("x") == "array-malformed");
    RepeatChoice both;
    both.array = "3-5";
    both.failed = true;
    CHECK(at.array(both) == "nothing-to-resubmit");
    at.end(4, State::kFailed);
    at.end(7, State::kFailed);
    CHECK(at.array(both) == "4");
    at.job.array.clear();
    CHECK(at.chosen("3") == "job-not-array");
}

TEST_CASE("repeat: OpenPBS has ranges with a step, and no range of one index") {
    Again at;
    at.job.scheduler = "pbspro";
    CHECK(at.chosen("4") == "4-5:2");
    CHECK(at.chosen("3-5") == "3-5");
    CHECK(at.chosen("2,5,8") == "2-8:3");
    CHECK(at.chosen("3,4") == "3-4");
    CHECK(at.chosen("2,5,9") == "2,5,9"); // which OpenPBS refuses, with its remedy
}

TEST_CASE("repeat: how a job ended, as `continue.on` calls it") {
    Entry entry;
    const std::pair<State, const char*> states[] = {{State::kDone, ""},
                                                    {State::kFailed, ""},
                                                    {State::kCancelled, ""},
                                                    {State::kTimeout, "timeout"},
                                                    {State::kPreempted, "preempted"}};
    for (const auto& [state, word] : states) {
        entry.state = state;
        CHECK(continued_end(entry) == word);
    }
    entry.state = State::kFailed;
    for (const char* native : {"NODE_FAIL", "BOOT_FAIL", "NODE_FAIL by 0"}) {
        entry.native = native;
        CHECK(continued_end(entry) == "node-fail");
    }
    entry.native = "A_NODE_FAIL";
    CHECK(continued_end(entry).empty());
    Again at;
    at.end(3, State::kTimeout);
    at.end(4, State::kFailed, "NODE_FAIL");
    at.end(5, State::kFailed);
    RepeatChoice choice;
    choice.ends = {"timeout", "node-fail"};
    CHECK(at.array(choice) == "3-4");
    choice.ends = {"preempted"};
    CHECK(at.array(choice) == "nothing-to-resubmit");
}

TEST_CASE("repeat: a job that lives, or whose document or request is gone, is not submitted") {
    Again at("");
    const auto id = [&] { return at.array({}); };
    CHECK(id() == "the Job's");
    CHECK(at.failed() == "nothing-to-resubmit");
    at.elements.front().state = State::kFailed;
    CHECK(at.failed() == "the Job's");
    at.job.ended = 0;
    CHECK(id() == "job-not-ended");
    at.job.ended = 1;
    for (const char* request : {"", "[]", "{"}) {
        at.job.request = request;
        CHECK(id() == "record-without-request");
    }
    CHECK(at.again().error().faults().front().help.find("cybelectl submit ") != std::string::npos);
    at.job.job = "/scripts/run.sh";
    CHECK(at.again().error().faults().front().help.find("job convert ") != std::string::npos);
    at.job.request = "{}";
    CHECK(id() == "job-document-missing");
}

TEST_CASE("repeat: what was asked for on the command line is asked for again") {
    Again at;
    at.job.request = R"({"site":"/s.yaml","overrides":{"nodes":"2","time":"1h","rows":"1-3",)"
                     R"("stderr":"e","queue":7,"allow-root":true,"arguments":["a","b",3],)"
                     R"("options":{"--gpus":"4","--unknown":"x","--mem":5}}})";
    const auto request = at.again();
    REQUIRE(request);
    CHECK(request->file == at.document);
    CHECK(request->scheduler == "slurm");
    CHECK(request->site == "/s.yaml");
    const Overrides& overrides = request->overrides;
    CHECK(overrides.nodes == "2");
    CHECK(overrides.time == "1h");
    CHECK(overrides.standard_error == "e");
    CHECK(overrides.queue.empty());
    CHECK(overrides.allow_root);
    CHECK(overrides.arguments == std::vector<std::string>{"a", "b"});
    CHECK(overrides.options == GivenOptions{{"--gpus", "4"}});
    CHECK(overrides.rows == "1-3");
    CHECK_FALSE(overrides.array); // it follows from the rows
    CHECK(at.chosen("3") == "3");
    at.job.request = R"({"overrides":[]})";
    CHECK_FALSE(at.again()->overrides.allow_root);
    // What is written for the journal is read again.
    JobRequest asked;
    asked.file = at.document;
    asked.site = "sites/../s.yaml";
    asked.overrides.tasks = "9";
    asked.overrides.options = {{"--gpus", "4"}};
    asked.overrides.arguments = {"x y"};
    at.job.request = request_text(asked, {});
    const auto back = at.again();
    REQUIRE(back);
    CHECK(back->overrides.tasks == "9");
    CHECK(back->overrides.options == asked.overrides.options);
    CHECK(back->overrides.arguments == asked.overrides.arguments);
    CHECK_FALSE(back->overrides.allow_root);
    CHECK(back->site == fs::current_path() / "s.yaml");
    asked.overrides.allow_root = true;
    at.job.request = request_text(asked, {});
    CHECK(at.again()->overrides.allow_root);
}

TEST_CASE("repeat: a record names a job of the journal, or one that it describes itself") {
    Again at;
    const auto journal = Journal::open(at.environment);
    REQUIRE(journal);
    REQUIRE(journal->put(at.job));
    const fs::path folder = at.directory.path() / "results";
    REQUIRE(make_directories(folder));
    const auto id = [&](const std::string& name) {
        const auto found = job_to_repeat(*journal, name);
        return found ? found->id : found.error().faults().front().id;
    };
    const auto write = [&](const std::string& name, const Json& record) {
        REQUIRE(write_file(folder / name, record.dump()));
        return (folder / name).native();
    };
    CHECK(id("12") == "12");
    CHECK(id(folder.native()) == "no-record");
    Json record{{"uuid", at.job.uuid}, {"id", "99"}};
    const std::string own = write("demo-12.job.json", record);
    CHECK(id(own) == "12"); // the journal's word counts
    CHECK(id(folder.native()) == "12");
    record = {{"uuid", "0a1b2c3d-0000-4000-8000-00000000000f"},
              {"id", "77"},
              {"name", "other"},
              {"scheduler", "torque"},
              {"state", "failed"},
              {"ended", 50},
              {"document", "/d.yaml"},
              {"array", "0-1"},
              {"request", {{"overrides", {{"nodes", "2"}}}}},
              {"elements",
               {{"list",
                 {{{"index", 0}, {"state", "done"}, {"code", 0}},
                  {{"index", 1}, {"state", "failed"}, {"code", 3}, {"node", "n7"}}}}}}};
    const std::string foreign = write("other-77.job.json", record);
    CHECK(id(folder.native()) == "several-records");
    const auto found = job_to_repeat(*journal, foreign);
    REQUIRE(found);
    CHECK(found->id == "77");
    CHECK(found->scheduler == "torque");
    CHECK(found->state == State::kFailed);
    CHECK(found->ended == 50);
    CHECK(found->job == "/d.yaml");
    CHECK(found->request == R"({"overrides":{"nodes":"2"}})");
    const auto elements = elements_of(*found);
    REQUIRE(elements.size() == 2);
    CHECK(elements[0].state == State::kDone);
    CHECK(elements[1].state == State::kFailed);
    CHECK(elements[1].code == 3);
    CHECK(elements[1].node == "n7");
    for (const Json& request :
         {Json{{"site", "/evil.yaml"}}, Json{{"overrides", {{"allow-root", true}}}}}) {
        record["request"] = request;
        CHECK(id(write("other-77.job.json", record)) == "record-not-in-journal");
    }
    record["request"] = Json::object();
    CHECK(id(write("other-77.job.json", record)) == "77");
    CHECK(id(write("job.json", record)) == "record-not-in-journal"); // how it ended is not there
    CHECK(id(write("x.job.json", Json::array())) == "record-without-uuid");
    CHECK(id(write("x.job.json", {{"id", "5"}})) == "record-without-uuid");
    CHECK(id(folder.native() + "/none") == "no-record");
}

TEST_CASE("differences: document, image, script and inputs, each by its digest") {
    const Again at;
    Entry before = at.job;
    RenderedJob now;
    now.script = "#!/bin/sh\n";
    now.input.job.array = before.array;
    now.input.file_digest = "sha256:image";
    const std::string script = "sha256:" + hex(sha256(now.script));
    const std::string document = document_digest(at.document);
    CHECK(document == "sha256:" + hex(sha256("name: demo\n")));
    CHECK(document_digest(at.directory.path()) == document);
    CHECK(document_digest(at.directory.path() / "none").empty());
    now.transfers.staged_files = {{"/s/a", "a", 1, "aa", false, "stage-in"},
                                  {"/s/b", "b", 1, "bb", false, "stage-in"},
                                  {"/s/i", "app.sif", 1, "cc", false, "image"},
                                  {"/s/e", "empty", 0, "", false, "stage-in"}};
    CHECK(input_digests(now) ==
          std::map<std::string, std::string>{{"a", "sha256:aa"}, {"b", "sha256:bb"}});
    const auto what = [&] {
        std::string words;
        for (const Difference& one : differences_since(before, now)) {
            words += one.what + (one.name.empty() ? "" : ":" + one.name) + " ";
            CHECK(one.was != one.is);
        }
        return words;
    };
    before.script = script;
    before.image_digest = "sha256:image";
    Json request{{"document-digest", document},
                 {"inputs", {{"a", "sha256:aa"}, {"b", "sha256:bb"}}}};
    before.request = request.dump();
    CHECK(what() == "");
    request["inputs"] = {{"a", "sha256:ab"}, {"gone", "sha256:x"}};
    request["document-digest"] = "sha256:other";
    before.request = request.dump();
    CHECK(what() == "document input:a input:gone input:b ");
    before.request.clear();
    before.image_digest = "sha256:other";
    before.script = "sha256:other";
    CHECK(what() == "image script ");
    now.input.job.array = "3"; // other elements: the script names them
    CHECK(what() == "image ");
    before.image_digest.clear(); // not known
    before.script.clear();
    CHECK(what() == "");
    now.transfers.staged_files.clear();
    for (int i = 0; i < 1001; ++i) {
        now.transfers.staged_files.push_back(
            {"/s", "f" + std::to_string(i), 1, "aa", false, "stage-in"});
        if (i == 999) {
            CHECK(input_digests(now).size() == 1000);
        }
    }
    const auto all = input_digests(now);
    REQUIRE(all.size() == 1);
    CHECK(all.begin()->first == "1001 files");
}

TEST_CASE("differences: the file that a job reads is one of its inputs") {
    const Again at;
    RenderedJob now;
    now.input.job.folder = at.directory.path();
    now.input.job.workdir = ".";
    now.input.job.input.text = "job.yaml";
    CHECK(input_digests(now) ==
          std::map<std::string, std::string>{{"job.yaml", document_digest(at.document)}});
    now.input.job.input.expands = true; // the node's to say
    CHECK(input_digests(now).empty());
    now.input.job.input = {};
    CHECK(input_digests(now).empty());
}

} // namespace cybele::submission
