// SPDX-License-Identifier: Apache-2.0
#include "pipeline/apt_lock.hpp"
#include "support/file.hpp"

#include <filesystem>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::pipeline;

TEST_CASE("dates of release files, as date(1) gives their seconds") {
    struct Row {
        const char* text;
        std::uint64_t seconds;
    };
    const Row rows[] = {
        {"Thu, 01 Jan 1970 00:00:00 UTC", 0},
        {"Sat, 10 Jan 2026 10:11:12 UTC", 1'768'039'872},
        {"Thu, 29 Feb 2024 23:59:59 UTC", 1'709'251'199},
        {"Fri, 31 Dec 1999 00:00:01 UTC", 946'598'401},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const auto seconds = parse_release_date(row.text);
        REQUIRE(seconds.has_value());
        CHECK(*seconds == row.seconds);
    }
}

TEST_CASE("what is no date of a release file gives none") {
    for (const char* text : {"",
                             "today",
                             "Sat, 10 Jan 2026",
                             "Sat, 30 Feb 2026 10:11:12 UTC",
                             "Sat, 10 Foo 2026 10:11:12 UTC",
                             "Sat, x Jan 2026 10:11:12 UTC",
                             "Sat, 10 Jan 2026 10:11 UTC",
                             "2026-01-10T10:11:12Z"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_release_date(text).has_value());
    }
}

TEST_CASE("a mirror without signed release files locks nothing, and nothing of it is left") {
    const auto folder = TempDirectory::make("/tmp", "cybelectl-mirror.");
    REQUIRE(folder.has_value());
    const auto scratch = folder->path() / "scratch";
    REQUIRE(make_directories(folder->path() / "dists/bookworm/main/binary-amd64"));
    REQUIRE(make_directories(scratch));
    REQUIRE(write_file(folder->path() / "dists/bookworm/main/binary-amd64/Packages", ""));
    REQUIRE(write_file(folder->path() / "dists/bookworm/Release",
                       "Suite: bookworm\nCodename: bookworm\nComponents: main\n"));
    Environment environment({{"PATH", "/usr/bin:/bin"}, {"CYBELE_TMPDIR", scratch.native()}});
    const auto suite = AptSuite::open("bookworm", "file:" + folder->path().native(), environment);
    REQUIRE_FALSE(suite.has_value());
    CHECK(suite.error().code() == ErrorCode::kEnvironment);
    CHECK(std::filesystem::is_empty(scratch));
}
