// SPDX-License-Identifier: Apache-2.0
#include "submission/local/start_files.hpp"
#include "submission/records/record_folder.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

const std::string kScript = "echo right\n";

struct StartPlace {
    TempDirectory directory = TempDirectory::make("/var/tmp", "start-files").value();
    fs::path state = directory.path() / "state";
    fs::path work = directory.path() / "work";
    submission::LocalSpec spec;

    StartPlace() {
        REQUIRE(make_directories(work));
        spec.number = 7;
        spec.uuid = "0a1b2c3d-0000-4000-8000-000000000001";
        spec.script = "sha256:" + hex(sha256(kScript));
        spec.record = work / ".cybelectl" / spec.uuid;
    }
    [[nodiscard]] fs::path kept() const {
        return state / "local" / spec.uuid;
    }
};

mode_t mode_of(const fs::path& path) {
    struct stat status {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status.st_mode & 07777;
}

} // namespace

TEST_CASE("what a job is started with is private, and gone when it has ended") {
    const StartPlace place;
    REQUIRE(submission::keep_start(place.state, place.spec, kScript, {{"A", "1"}, {"B", "x=y\n"}}));
    CHECK(mode_of(place.kept()) == 0700);
    CHECK(mode_of(place.kept() / "environment") == 0600);
    const auto start = submission::kept_start(place.state, place.spec);
    REQUIRE(start);
    CHECK(read_file(start->script).value() == kScript);
    CHECK(start->environment == EnvironmentMap{{"A", "1"}, {"B", "x=y\n"}});
    CHECK(submission::keep_start(place.state, place.spec, kScript, {})); // after a kill, once more
    submission::forget_start(place.state, place.spec);
    CHECK_FALSE(fs::exists(place.kept()));
    CHECK_FALSE(submission::kept_start(place.state, place.spec));
}

TEST_CASE("a script that changed, or that others could change, does not start") {
    const StartPlace place;
    REQUIRE(submission::keep_start(place.state, place.spec, kScript, {}));
    REQUIRE(write_file(place.kept() / "job.sh", "echo wrong\n"));
    const auto changed = submission::kept_start(place.state, place.spec);
    REQUIRE_FALSE(changed);
    CHECK(changed.error().code() == ErrorCode::kVerification);
    CHECK(changed.error().message() == "the script of job 7 is not the one that was submitted");
    REQUIRE(write_file(place.kept() / "job.sh", kScript));
    CHECK(submission::kept_start(place.state, place.spec));
    REQUIRE(::chmod(place.kept().c_str(), 0777) == 0);
    CHECK(submission::kept_start(place.state, place.spec).error().code() ==
          ErrorCode::kEnvironment);
}

TEST_CASE("a job of an older version starts from its record, where that is private") {
    StartPlace place;
    place.spec.script.clear();
    const auto record = submission::RecordFolder::make(place.spec.record);
    REQUIRE(record);
    REQUIRE(record->write({{"job.sh", kScript, 0700}}));
    const std::string environment("A=1\0", 4);
    REQUIRE(record->write({{"environment", environment, 0600}}));
    const auto start = submission::kept_start(place.state, place.spec);
    REQUIRE(start);
    CHECK(start->environment == EnvironmentMap{{"A", "1"}});
    REQUIRE(::chmod((place.work / ".cybelectl").c_str(), 0775) == 0);
    CHECK_FALSE(submission::kept_start(place.state, place.spec));
}

TEST_CASE("a record is kept in folders of the user alone, and follows no link") {
    const StartPlace place;
    const fs::path above = place.work / ".cybelectl";
    const fs::path record = place.spec.record;
    CHECK(submission::RecordFolder::open(record).error().code() == ErrorCode::kInput);
    const auto made = submission::RecordFolder::make(record);
    REQUIRE(made);
    CHECK(mode_of(above) == 0700);
    CHECK(mode_of(record) == 0700);
    fs::create_symlink(place.directory.path() / "outside", record / "job.sh");
    REQUIRE(made->write({{"job.sh", "x", 0700}})); // in the link's place
    CHECK_FALSE(fs::exists(place.directory.path() / "outside"));
    CHECK(made->read("job.sh", 10).value() == "x");
    CHECK_FALSE(made->read("job.sh", 0));
    fs::create_symlink("job.sh", record / "link");
    CHECK_FALSE(made->read("link", 10));

    for (const fs::path& folder : {above, record}) {
        for (const mode_t mode : {mode_t{0770}, mode_t{0707}, mode_t{01777}}) {
            REQUIRE(::chmod(folder.c_str(), mode) == 0);
            const auto refused = submission::RecordFolder::make(record);
            REQUIRE_FALSE(refused);
            CHECK(refused.error().code() == ErrorCode::kEnvironment);
        }
        REQUIRE(::chmod(folder.c_str(), 0700) == 0);
    }
    if (::geteuid() == 0) {
        REQUIRE(::chown(record.c_str(), 2345, 0) == 0);
        CHECK(submission::RecordFolder::open(record).error().faults().front().because ==
              "it belongs to another user (owner 2345, mode 0700)");
    }
    fs::remove_all(above);
    fs::create_directory_symlink(place.state, above);
    CHECK(submission::RecordFolder::make(record).error().faults().front().because ==
          "it is not a folder, but a link or a file");
    fs::remove(above);
    REQUIRE(write_file(above, ""));
    CHECK_FALSE(submission::RecordFolder::make(record));
}
