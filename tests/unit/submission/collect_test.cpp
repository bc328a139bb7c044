// SPDX-License-Identifier: Apache-2.0
// The results of a job come back: what the journal names, into its folder, and nothing else.
#include "submission/journal/array.hpp"
#include "submission/submit/collect.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Ended {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    fs::path home = directory.path() / "home";
    fs::path work = directory.path() / "work";
    fs::path record = work / ".cybelectl/uuid";
    CollectRequest request;

    Ended() {
        REQUIRE(make_directories(home));
        REQUIRE(make_directories(record));
        REQUIRE(write_file(work / "a.txt", "first"));
        REQUIRE(write_file(work / "b.txt", "second"));
        REQUIRE(write_file(work / "c.dat", "third"));
        REQUIRE(write_file(record / "job.sh", "#!/bin/sh\n"));
        REQUIRE(write_file(record / "job.json", R"({"job":"sha256:j","image":"app.sif"})"));
        Entry& entry = request.entry;
        entry.uuid = "uuid";
        entry.id = "12";
        entry.name = "demo";
        entry.scheduler = "local";
        entry.state = State::kFailed;
        entry.code = 3;
        entry.ended = 100;
        entry.folder = home;
        entry.workdir = work;
        entry.record = record;
        entry.results = R"(["*.txt"])";
        entry.script = "sha256:" + hex(sha256("#!/bin/sh\n"));
    }
    [[nodiscard]] std::string id() const {
        const auto done = collect(request);
        return done ? "" : done.error().faults().front().id;
    }
};

} // namespace

TEST_CASE("collect: the files that the journal's patterns match, with the job's record") {
    const Ended at;
    const auto done = collect(at.request);
    REQUIRE(done);
    CHECK(done->to == at.home / "results");
    REQUIRE(done->files.size() == 2);
    CHECK(done->files[0].name == "a.txt");
    CHECK(done->files[1].size == 6);
    CHECK(done->files[1].digest == "sha256:" + hex(sha256("second")));
    CHECK(*read_file(done->to / "b.txt") == "second");
    CHECK_FALSE(fs::exists(done->to / "c.dat"));
    CHECK(done->notes.empty());
    CHECK(done->failures.empty());
    CHECK(*read_file(done->to / "demo-12.job.sh") == "#!/bin/sh\n");
    CHECK(*read_file(done->to / "demo-12.job.json") == done->record);
    const Json record = Json::parse(done->record);
    CHECK(record.at("state") == "failed");
    CHECK(record.at("code") == 3);
    CHECK(record.at("job") == "sha256:j");
    CHECK(record.at("image") == "app.sif");
    CHECK(record.at("results").size() == 2);
    CHECK(record.at("results")[0].at("digest") == "sha256:" + hex(sha256("first")));
    CHECK_FALSE(record.contains("elements"));
    CHECK(collect(at.request)); // again, which changes nothing
}

TEST_CASE("collect: patterns and folder of the command line come before the Job's") {
    Ended at;
    at.request.patterns = {"c.*", "a.txt", "[ab].txt"};
    at.request.to = at.directory.path() / "elsewhere";
    const auto done = collect(at.request);
    REQUIRE(done);
    CHECK(done->files.size() == 3); // each once
    CHECK(fs::exists(at.directory.path() / "elsewhere/c.dat"));
    CHECK_FALSE(fs::exists(at.home / "results"));
    at.request.patterns = {"a.txt", "none", "*.none"};
    const auto refused = collect(at.request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().faults().size() == 2);
    CHECK(at.id() == "results-pattern-unmatched");
    at.request.patterns = {"/etc/passwd", "../x"};
    CHECK(at.id() == "results-pattern");
    CHECK(collect(at.request).error().faults().size() == 2);
    at.request.patterns.clear();
    for (const char* none : {"", "[]", "{}", "[5]"}) {
        at.request.entry.results = none;
        CHECK(at.id() == "job-without-results");
    }
}

TEST_CASE("collect: nothing goes to where only the record or a link leads") {
    Ended at;
    for (const char* to : {"/abs", "..", "a/../../b", "a/.."}) {
        at.request.entry.results_to = to;
        CHECK_MESSAGE(at.id() == "results-destination-outside", to);
    }
    at.request.entry.results_to = "deep/er";
    CHECK(at.id() == "");
    CHECK(fs::exists(at.home / "deep/er/a.txt"));
    REQUIRE(make_directories(at.work / "sub"));
    REQUIRE(write_file(at.work / "sub/x.txt", "x"));
    REQUIRE(make_directories(at.directory.path() / "victim"));
    fs::create_directory_symlink(at.directory.path() / "victim", at.home / "deep/er/sub");
    at.request.patterns = {"sub"};
    CHECK(at.id() == "result-leaves-folder");
    CHECK(fs::is_empty(at.directory.path() / "victim"));
    // The record is the job's to write: it names neither patterns nor a folder.
    at.request.patterns.clear();
    REQUIRE(write_file(at.record / "job.json", R"({"to":"/etc","results":["c.dat"]})"));
    CHECK(at.id() == "");
    CHECK_FALSE(fs::exists(at.home / "deep/er/c.dat"));
}

TEST_CASE("collect: a record or script that is not what it was") {
    Ended at;
    for (const char* damaged : {"[]",
                                "{",
                                R"({"job":5})",
                                R"({"image":[]})",
                                R"({"image-digest":null})",
                                R"({"to":5})",
                                R"({"results":"x"})",
                                R"({"resources":[]})"}) {
        REQUIRE(write_file(at.record / "job.json", damaged));
        CHECK_MESSAGE(at.id() == "collected-file-damaged", damaged);
    }
    REQUIRE(write_file(at.record / "job.json", R"({"image-digest":"sha256:theirs"})"));
    CHECK(Json::parse(collect(at.request)->record).at("image-digest") == "sha256:theirs");
    at.request.entry.image_digest = "sha256:ours";
    CHECK(Json::parse(collect(at.request)->record).at("image-digest") == "sha256:ours");
    REQUIRE(write_file(at.record / "job.sh", "changed"));
    fs::remove_all(at.home / "results");
    auto done = collect(at.request);
    REQUIRE(done);
    REQUIRE(done->notes.size() == 1);
    CHECK(done->notes[0].is_warning);
    CHECK(done->notes[0].because.ends_with(" is not what was submitted"));
    CHECK_FALSE(fs::exists(at.home / "results/demo-12.job.sh"));
    fs::remove_all(at.record);
    done = collect(at.request);
    REQUIRE(done);
    CHECK(done->notes[0].because.ends_with(" is not there"));
}

TEST_CASE("collect: of an array each element's own files; a failed one may lack its own") {
    Ended at;
    Entry& entry = at.request.entry;
    entry.array = "0-2";
    entry.results = R"(["out-@{index}.txt","a.txt"])";
    at.request.elements = elements_of(entry);
    for (Entry& element : at.request.elements) {
        element.state = State::kDone;
        element.code = 0;
        element.ended = 100;
    }
    REQUIRE(write_file(at.work / "out-0.txt", "0"));
    REQUIRE(write_file(at.work / "out-2.txt", "2"));
    CHECK(at.id() == "results-pattern-unmatched");
    at.request.elements[1].state = State::kFailed;
    at.request.elements[1].code = 7;
    const auto done = collect(at.request);
    REQUIRE(done);
    CHECK(done->files.size() == 3);
    CHECK(done->failures == "1 of 3 elements failed, index 1");
    const Json elements = Json::parse(done->record).at("elements");
    CHECK(elements.at("count") == 3);
    CHECK(elements.at("failed") == 1);
    CHECK(elements.at("list")[1].at("code") == 7);
    CHECK(elements.at("list")[1].at("id") == "12_1");
    // What is missed without an index is missed.
    entry.results = R"(["none.txt"])";
    CHECK(at.id() == "results-pattern-unmatched");
    // One element alone, whose script is the array's.
    at.request.entry = at.request.elements[2];
    at.request.elements.clear();
    at.request.entry.results = R"(["out-@{index}.txt"])";
    const auto one = collect(at.request);
    REQUIRE(one);
    REQUIRE(one->files.size() == 1);
    CHECK(one->files[0].name == "out-2.txt");
    CHECK(one->notes.empty());
}

TEST_CASE("collect: a service without files says how to get them") {
    Ended at;
    at.request.entry.login = "rimrock+https://r.example#host=hall";
    CHECK(at.id() == "results-without-files");
    at.request.entry.login = "slurmrestd+https://s.example";
    CHECK(at.id() == ""); // of a folder that both see
}

} // namespace cybele::submission
