// SPDX-License-Identifier: Apache-2.0
// What a job leaves: the record of its end, the names of its outputs, who runs it; and the tokens
// that services are shown.
#include "submission/backends/token.hpp"
#include "submission/records/output_pattern.hpp"
#include "submission/records/process_identity.hpp"
#include "submission/records/record.hpp"
#include "submission/records/record_folder.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

TempDirectory fresh() {
    return TempDirectory::make("/tmp", "cybele-test").value();
}

} // namespace

TEST_CASE("records: how a shell would tell the end of a job") {
    ExitRecord record;
    record.code = 3;
    CHECK(record.shell_code() == 3);
    record.signal = 9;
    CHECK(record.shell_code() == 137);
    record.state = "timeout";
    CHECK(record.shell_code() == 124);
    record.state = "lost";
    CHECK(record.shell_code() == 125);
}

TEST_CASE("records: an end comes back as it was written, and what the script measured stays") {
    const TempDirectory folder = fresh();
    CHECK_FALSE(read_exit_record(folder.path()).value());
    ExitRecord record;
    record.uuid = "u";
    record.state = "failed";
    record.code = 3;
    record.signal = 15;
    record.start = 100;
    record.end = 200;
    record.host = "n7";
    record.reason = "time";
    record.cpu_milliseconds = 4500;
    record.memory_bytes = std::uint64_t{5} << 32U;
    REQUIRE(write_exit_record(folder.path(), record));
    const auto read = [&] {
        const auto back = read_exit_record(folder.path());
        REQUIRE(back);
        REQUIRE(*back);
        return **back;
    };
    const ExitRecord back = read();
    CHECK(back.uuid == "u");
    CHECK(back.state == "failed");
    CHECK(back.code == 3);
    CHECK(back.signal == 15);
    CHECK(back.start == 100);
    CHECK(back.end == 200);
    CHECK(back.host == "n7");
    CHECK(back.reason == "time");
    CHECK(back.cpu_milliseconds == 4500);
    CHECK(back.memory_bytes == std::uint64_t{5} << 32U);
    struct stat status {};
    REQUIRE(::stat((folder.path() / "exit.json").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    record.cpu_milliseconds.reset();
    record.reason.clear();
    REQUIRE(write_exit_record(folder.path(), record));
    CHECK(read().cpu_milliseconds == 4500);
    CHECK(read().reason.empty());
    record.cpu_milliseconds = 7;
    REQUIRE(write_exit_record(folder.path(), record));
    CHECK(read().cpu_milliseconds == 7);
}

TEST_CASE("records: numbers of an end within their ranges, and no others") {
    const auto is_good = [](const Json& document) {
        return parse_exit_record(document.dump(), "exit.json").has_value();
    };
    const std::pair<const char*, std::int64_t> most[] = {
        {"code", 255}, {"signal", 64}, {"start", 253'402'300'799}, {"end", 253'402'300'799}};
    for (const auto& [name, number] : most) {
        CAPTURE(name);
        CHECK(is_good({{name, 0}}));
        CHECK(is_good({{name, number}}));
        CHECK_FALSE(is_good({{name, number + 1}}));
        CHECK_FALSE(is_good({{name, -1}}));
        CHECK_FALSE(is_good({{name, 1.0}}));
        CHECK_FALSE(is_good({{name, "1"}}));
    }
    CHECK(is_good(Json::object()));
    CHECK_FALSE(is_good(Json::array()));
    for (const char* name : {"uuid", "state", "host", "reason", "cpu-milliseconds", "memory"}) {
        CHECK_FALSE(is_good({{name, Json::array()}}));
    }
}

TEST_CASE("records: the names of outputs, with job, id, index and percent signs") {
    const auto name = [](const std::string& pattern, const std::string& index = "") {
        return expand_pattern(pattern, "demo", "12", index);
    };
    CHECK(name("%x-%j.out") == "demo-12.out");
    CHECK(name("%x%%%j") == "demo%12");
    CHECK(name("%a.%j", "3") == "3.12");
    CHECK(name("%a.%j") == "%a.12");
    CHECK(name("100%") == "100%");
    CHECK(name("%u%") == "%u%");
    CHECK(name("") == "");
    CHECK(name("xja") == "xja");
}

TEST_CASE("records: a process is known by its start and its boot, too") {
    const ProcessIdentity own = id_of_process(::getpid());
    CHECK(own.is_alive());
    const auto back = read_process_id(text_of(own));
    REQUIRE(back);
    CHECK(back->pid == own.pid);
    CHECK(back->start == own.start);
    CHECK(back->boot == own.boot);
    CHECK(back->host == own.host);
    CHECK(back->is_alive());
    for (ProcessIdentity other : {own, own, own}) {
        other.start += "1";
        CHECK_FALSE(other.is_alive());
    }
    ProcessIdentity other = own;
    other.boot = "another";
    CHECK_FALSE(other.is_alive());
    CHECK_FALSE(ProcessIdentity().is_alive());
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(0);
    }
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    CHECK_FALSE(id_of_process(child).is_alive());
    for (const char* text : {"", "1", "1 2", "x 2 3", "1 2 3 4 5", "-x 2 3"}) {
        CHECK_MESSAGE(!read_process_id(text), text);
    }
}

TEST_CASE("records: a folder of another mode, a link or a file in its place is refused") {
    const TempDirectory place = fresh();
    const fs::path record = place.path() / "work/.cybelectl/uuid";
    const auto id = [](const auto& result) {
        return result ? std::string() : result.error().faults().front().id;
    };
    CHECK(id(RecordFolder::open(record)) == "folder-missing");
    const auto made = RecordFolder::make(record);
    REQUIRE(made);
    struct stat status {};
    for (const fs::path& folder : {record, record.parent_path()}) {
        REQUIRE(::stat(folder.c_str(), &status) == 0);
        CHECK((status.st_mode & 07777) == 0700);
    }
    REQUIRE(made->write({{"job.sh", "text", 0700}}));
    REQUIRE(made->write({{"job.sh", "again", 0600}})); // in place of the first one
    REQUIRE(::stat((record / "job.sh").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK(made->read("job.sh", 5).value() == "again");
    CHECK(id(made->read("job.sh", 4)) == "file-too-big");
    CHECK_FALSE(made->read("none", 5));
    fs::create_symlink("job.sh", record / "link");
    CHECK_FALSE(made->read("link", 5));
    for (const mode_t mode : {0720U, 0702U}) {
        REQUIRE(::chmod((record / "job.sh").c_str(), mode) == 0);
        CHECK(id(made->read("job.sh", 5)) == "record-folder-refused");
        for (const fs::path& folder : {record, record.parent_path()}) {
            REQUIRE(::chmod(folder.c_str(), mode) == 0);
            CHECK(id(RecordFolder::open(record)) == "record-folder-refused");
            CHECK(id(RecordFolder::make(record)) == "record-folder-refused");
            REQUIRE(::chmod(folder.c_str(), 0700) == 0);
        }
    }
    CHECK(RecordFolder::open(record));
    fs::create_directory_symlink(record, record.parent_path() / "linked");
    const auto linked = RecordFolder::open(record.parent_path() / "linked");
    CHECK(id(linked) == "record-folder-refused");
    CHECK(linked.error().faults().front().because == "it is not a folder, but a link or a file");
    CHECK(id(RecordFolder::make(record / "job.sh/x")) != "");
}

TEST_CASE("tokens: of a file, asked for again each minute, by its name or alone") {
    const TempDirectory place = fresh();
    const fs::path file = place.path() / "token";
    std::int64_t now = 1000;
    Environment environment;
    environment.set("CYBELE_TOKEN_FILE", file.native());
    environment.set("SLURM_JWT", "variable");
    Token token("", environment, [&now] { return now; });
    const auto id = [&] {
        const auto got = token.get();
        return got ? *got : got.error().faults().front().id;
    };
    CHECK(id() == "token-file-missing");
    REQUIRE(write_file(file, "SLURM_JWT=first\n"));
    CHECK(id() == "first");
    REQUIRE(write_file(file, " second \n"));
    now += 59;
    CHECK(id() == "first");
    now += 1;
    CHECK(id() == "second");
    REQUIRE(write_file(file, "third"));
    CHECK(id() == "second");
    CHECK(token.renew());
    CHECK(id() == "third");
    const std::string proxy = "-----BEGIN CERTIFICATE-----\nAB CD\n-----END CERTIFICATE-----";
    for (const std::string& odd : {std::string("a b"),
                                   std::string("a\nb"),
                                   std::string("a\x7f"),
                                   std::string("\xc3\xa9"),
                                   std::string("  \n"),
                                   std::string("SLURM_JWT="),
                                   proxy + "\r\nX: y\x01"}) {
        REQUIRE(write_file(file, odd));
        (void)token.renew();
        CHECK_MESSAGE(id() == "token-missing", odd);
    }
    REQUIRE(write_file(file, proxy));
    CHECK(id() == proxy);
}

TEST_CASE("tokens: one of a command is asked for again when four fifths of its life are over") {
    const TempDirectory place = fresh();
    const fs::path file = place.path() / "token";
    std::int64_t now = 1000;
    Environment environment;
    environment.set("PATH", "/usr/bin:/bin");
    Token token("cat  " + file.native(), environment, [&now] { return now; });
    const auto put = [&](const std::string& claims) {
        std::string text = "h." + base64(claims) + ".s";
        REQUIRE(write_file(file, text));
        return text;
    };
    const std::string first = put(R"({"iat":1000,"exp":2000,"sun":"a"})");
    CHECK(token.get().value() == first);
    const std::string second = put(R"({"exp":3000,"sun":"b"})");
    now = 1799;
    CHECK(token.get().value() == first);
    now = 1800;
    CHECK(token.get().value() == second);
    // Without a time of issue its life began when it came: 1800 to 3000.
    const std::string third = put(R"({"sun":"c"})");
    now = 1800 + 959;
    CHECK(token.get().value() == second);
    now = 1800 + 960;
    CHECK(token.get().value() == third);
    (void)put(R"({"sun":"d"})"); // without an end it is kept
    now += 1'000'000;
    CHECK(token.get().value() == third);
    CHECK(read_claims(third).user == "c");
    REQUIRE(fs::remove(file));
    CHECK(token.renew());
    const auto failed = token.get();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().faults().front().id == "token-command-failed");
    CHECK(failed.error().faults().front().because.find("No such file") != std::string::npos);
}

} // namespace cybele::submission
