// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/collect_script.hpp"
#include "bridge/batch/collected.hpp"
#include "submission/backends/shell_host.hpp"
#include "support/file.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

/// A work folder and an admitted root, worked on by a real shell.
struct CollectPlace {
    TempDirectory folder = TempDirectory::make(fs::temp_directory_path(), "collect-").value();
    fs::path work = folder.path() / "work";
    fs::path root = folder.path() / "root";
    int limit = 14; ///< the bytes of all files here
    std::unique_ptr<submission::Host> host = submission::shell_host(
        {{"sh", "-s"}, "this machine", {{"PATH", "/usr/local/bin:/usr/bin:/bin"}}});

    CollectPlace() {
        fs::create_directories(work / "out" / "sub");
        fs::create_directories(root);
        write(work / "out" / "a", "one\n");
        write(work / "out" / "sub" / "b c", "two\n");
        write(work / "job.out", "said\xff\n");
    }
    static void write(const fs::path& file, const std::string& text) {
        std::ofstream(file) << text;
    }
    std::optional<bridge::Collected>
    collect(const std::string& from, const fs::path& target, int begun = 1) {
        submission::Call call;
        call.argv = {"sh",
                     "-c",
                     std::string(bridge::kCollectResults),
                     "cybelectl",
                     work.native(),
                     (folder.path() / "record").native(),
                     std::to_string(begun),
                     target.native(),
                     from,
                     "job.out",
                     "",
                     std::to_string(limit),
                     "/nonexistent/root",
                     root.native()};
        for (int tries = 0; tries < 50; ++tries) { // a worker does it
            const auto answers = host->exchange({call}, {});
            REQUIRE(answers.has_value());
            REQUIRE(answers->outcomes.front().ok());
            if (auto collected = bridge::read_collected(answers->outcomes.front().output, 7)) {
                return collected;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return std::nullopt;
    }
};

} // namespace

TEST_CASE("what another user planted at the target leads to no file of the account") {
    CollectPlace place;
    const fs::path victim = place.folder.path() / "victim";
    CollectPlace::write(victim, "precious");
    fs::create_directories(place.root / "new/out/sub");
    fs::create_symlink(victim, place.root / "new/out/a.part");
    fs::create_hard_link(victim, place.root / "new/out/sub/b c.part");
    const auto collected = place.collect("out", place.root / "new");
    REQUIRE(collected);
    CHECK(collected->condition.status == "True");
    CHECK(collected->count == 3);
    CHECK(read_file(victim).value() == "precious");
    CHECK(read_file(place.root / "new/out/a").value() == "one\n");
    CHECK_FALSE(fs::exists(place.root / "new/out/a.part"));
}

TEST_CASE("a folder and the output are copied below the root, with size and digest") {
    CollectPlace place;
    const auto collected = place.collect("out", place.root / "new");
    REQUIRE(collected);
    CHECK(collected->condition.status == "True");
    CHECK(collected->count == 3);
    REQUIRE(collected->files.size() == 3);
    CHECK(collected->files.back().name == "job.out");
    CHECK(collected->files.back().size == 6);
    CHECK(collected->files.back().sha256.size() == 64);
    CHECK(collected->tail.standard_output == "said?\n");
    CHECK(read_file(place.root / "new" / "out" / "sub" / "b c").value() == "two\n");
    CHECK_FALSE(fs::exists(place.root / "new" / "job.out.part"));
}

TEST_CASE("results that are larger than the limit are not copied") {
    CollectPlace place;
    place.limit = 13;
    const auto collected = place.collect("out", place.root / "new");
    REQUIRE(collected);
    CHECK(collected->condition.status == "False");
    CHECK(collected->condition.reason == "ResultsTooLarge");
    CHECK(collected->condition.message == "the results have 14 bytes, and at most 13 are copied");
    CHECK(collected->tail.standard_output == "said?\n");
    CHECK(fs::is_empty(place.root / "new"));
}

TEST_CASE("a pattern is expanded; a part of a file is continued") {
    CollectPlace place;
    fs::create_directories(place.root / "new");
    CollectPlace::write(place.root / "new" / "a.part", "on");
    const auto collected = place.collect("out/[ab]*", place.root / "new");
    REQUIRE(collected);
    CHECK(collected->condition.status == "True");
    CHECK(read_file(place.root / "new" / "a").value() == "one\n");
}

TEST_CASE("two different files of one name do not replace each other") {
    CollectPlace place;
    place.limit = 100;
    for (const char* run : {"run1", "run2"}) {
        fs::create_directories(place.work / run);
        CollectPlace::write(place.work / run / "out.dat", std::string(run) + "\n");
        CollectPlace::write(place.work / run / "same.dat", "same\n");
    }
    auto collected = place.collect("run*/same.dat", place.root / "same");
    REQUIRE(collected);
    CHECK(collected->condition.status == "True");
    CHECK(collected->count == 2); // with the output
    fs::remove_all(place.folder.path() / "record");
    collected = place.collect("run*/out.dat", place.root / "new");
    REQUIRE(collected);
    CHECK(collected->condition.status == "False");
    CHECK(collected->condition.reason == "ResultsAmbiguous");
    CHECK(collected->condition.message == "two different files are called out.dat");
    CHECK(read_file(place.root / "new/out.dat").value() == "run1\n");
}

TEST_CASE("an output that a pattern matches too is one result") {
    CollectPlace place;
    const auto collected = place.collect("*.out", place.root / "new");
    REQUIRE(collected);
    CHECK(collected->condition.status == "True");
    CHECK(collected->count == 1);
}

TEST_CASE("a name with a backslash or a line end makes no report that cannot be read") {
    CollectPlace place;
    CollectPlace::write(place.work / "out" / R"(x\cy\nz)", "odd\n");
    place.limit = 100;
    auto collected = place.collect("out", place.root / "new");
    REQUIRE(collected);
    CHECK(collected->condition.status == "True");
    CHECK(collected->count == 4);
    fs::remove_all(place.folder.path() / "record");
    CollectPlace::write(place.work / "two\nlines", "odd\n");
    collected = place.collect("two*", place.root / "new");
    REQUIRE(collected);
    CHECK(collected->condition.reason == "CopyFailed");
    CHECK(collected->tail.standard_output == "said?\n");
}

TEST_CASE("the end of an output that becomes longer meanwhile is read once") {
    CollectPlace place;
    place.limit = 1 << 20;
    // `wc` is called behind each `tail`: an output that grows between them, as NFS may show it.
    const fs::path programs = place.folder.path() / "bin";
    fs::create_directories(programs);
    CollectPlace::write(programs / "wc",
                        "#!/bin/sh\necho more >>" + (place.work / "job.out").native() +
                            "\nexec /usr/bin/wc \"$@\"\n");
    fs::permissions(programs / "wc", fs::perms::owner_all);
    place.host = submission::shell_host(
        {{"sh", "-s"}, "this machine", {{"PATH", programs.native() + ":/usr/bin:/bin"}}});
    const auto collected = place.collect("nothing", place.root / "new");
    REQUIRE(collected);
    CHECK(collected->condition.reason == "ResultsMissing");
    CHECK(collected->tail.standard_output.starts_with("said?\n"));
}

TEST_CASE("a link that leads out of the roots, and a missing file, are reported with a reason") {
    CollectPlace place;
    fs::create_directories(place.folder.path() / "elsewhere");
    fs::create_directory_symlink(place.folder.path() / "elsewhere", place.root / "link");
    auto collected = place.collect("out", place.root / "link");
    REQUIRE(collected);
    CHECK(collected->condition.status == "False");
    CHECK(collected->condition.reason == "RootNotAdmitted");
    CHECK(fs::is_empty(place.folder.path() / "elsewhere"));
    fs::remove_all(place.folder.path() / "record");
    collected = place.collect("nothing", place.root);
    REQUIRE(collected);
    CHECK(collected->condition.reason == "ResultsMissing");
    CHECK(collected->tail.standard_output == "said?\n");
    // The failure stands until a later copy is asked for.
    CollectPlace::write(place.work / "nothing", "late\n");
    collected = place.collect("nothing", place.root);
    REQUIRE(collected);
    CHECK(collected->condition.reason == "ResultsMissing");
    collected = place.collect("nothing", place.root, 2);
    REQUIRE(collected);
    CHECK(collected->condition.status == "True");
    CHECK(fs::exists(place.root / "nothing"));
}

TEST_CASE("the status of a job with many results and long names stays below 12 KB") {
    std::string report = "collected\n";
    for (int file = 0; file < 32; ++file) {
        report += "result 5 " + std::string(64, 'f') + " out/" + std::string(230, 'n') +
                  std::to_string(file) + "\n";
    }
    report += "count 900\n";
    for (const char* stream : {"stdout", "stderr"}) {
        report += "tail " + std::string(stream) + " 2048\n" + std::string(2048, '\xff') + "\n";
    }
    const auto collected = bridge::read_collected(report + "complete\n", 7);
    REQUIRE(collected);
    CHECK(collected->count == 900);
    CHECK(collected->files.size() == 13);
    bridge::Status status;
    status.results = collected->files;
    status.tail = collected->tail;
    CHECK(bridge::status_json(status).size() < 9000);
}

TEST_CASE("a report that is cut is not a report") {
    CHECK_FALSE(bridge::read_collected("busy\n", 1));
    CHECK_FALSE(bridge::read_collected("collected\ncount 1\n", 1));
    CHECK_FALSE(bridge::read_collected("collected\ntail stdout 99\nx\ncomplete\n", 1));
    CHECK_FALSE(bridge::read_collected("complete\n", 1));
    CHECK(bridge::read_collected("collected\ncount 0\ncomplete\n", 1));
}

TEST_CASE("the last of both outputs is read without results; one file is read once") {
    CollectPlace place;
    CollectPlace::write(place.root / "a.err", std::string(5000, 'x') + "end\n");
    submission::Call call;
    call.argv = {"sh", "-c", std::string(bridge::kReadTails), "cybelectl", place.root.native()};
    const std::string out = (place.work / "job.out").native();
    call.argv.insert(call.argv.end(), {out, "a.err", "a.err", "a.err", "nosuch", "", "", ""});
    const auto answers = place.host->exchange({call}, {});
    REQUIRE(answers);
    const auto tails = bridge::read_tails(answers->outcomes.front().output);
    REQUIRE(tails.size() == 4);
    CHECK(tails[0].standard_output == "said?\n");
    CHECK(tails[0].standard_error.size() == 2048);
    CHECK(tails[0].standard_error.ends_with("xend\n"));
    CHECK(tails[1].standard_output.size() == 2048);
    CHECK(tails[1].standard_error.empty());
    CHECK(tails[2] == bridge::Streams());
    CHECK(tails[3] == bridge::Streams());
    CHECK(bridge::read_tails("tail stdout 5\nabc").empty());
    CHECK(bridge::read_tails("complete\ntail stdout 3\nabc\n").size() == 1);
    CHECK(bridge::read_tails("complete\ncount 1\ncomplete\n").size() == 1);
}
