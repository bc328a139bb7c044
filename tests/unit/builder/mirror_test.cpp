// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/builder.hpp"
#include "builder/request/mirror.hpp"
#include "temporary.hpp"

using namespace cybele;
using namespace cybele::builder;

TEST_CASE("one-line sources: options, comments, source packages") {
    const auto sources =
        read_one_line_sources("# deb http://no.example/x bookworm main\n"
                              "deb http://a.example/debian bookworm main contrib # c\n"
                              "deb [ arch=amd64 signed-by=/k.gpg ] http://b.example/x trixie main\n"
                              "deb-src http://a.example/debian bookworm main\n"
                              "deb broken\n");
    REQUIRE(sources.size() == 2);
    CHECK(sources[0].uri == "http://a.example/debian");
    CHECK(sources[0].components == std::vector<std::string>{"main", "contrib"});
    CHECK(sources[1].uri == "http://b.example/x");
    CHECK(sources[1].suite == "trixie");
}

TEST_CASE("deb822 sources: several suites, disabled stanzas, comments, folded fields") {
    const auto sources =
        read_deb822_sources("Types: deb deb-src\n# comment\nURIs: http://a.example/d\n"
                            "Suites: bookworm\n bookworm-updates\nComponents: main\n\n"
                            "Types: deb\nEnabled: no\nURIs: http://no.example\n"
                            "Suites: bookworm\nComponents: main\n\n"
                            "Types: deb-src\nURIs: http://src.example\nSuites: x\n");
    REQUIRE(sources.size() == 2);
    CHECK(sources[1].suite == "bookworm-updates");
    CHECK(sources[1].uri == "http://a.example/d");
}

TEST_CASE("the mirror is that of the suite, else of a whole distribution") {
    const auto dir = temporary();
    put(dir.path() / "sources.list",
        "deb http://vendor.example/apt stable tool\n"
        "deb http://sec.example/debian bookworm-security main\n");
    put(dir.path() / "sources.list.d/debian.sources",
        "Types: deb\nURIs: http://m.example/debian\nSuites: bookworm\nComponents: main\n");
    put(dir.path() / "sources.list.d/trixie.list", "deb http://t.example/debian trixie main\n");
    put(dir.path() / "sources.list.d/old.list.off", "deb http://off.example/debian sid main\n");
    CHECK(mirror_for_suite(dir.path(), "bookworm").value_or("") == "http://m.example/debian");
    CHECK(mirror_for_suite(dir.path(), "trixie").value_or("") == "http://t.example/debian");
    CHECK(mirror_for_suite(dir.path(), "sid").value_or("") == "http://m.example/debian");
    CHECK(machine_mirror(dir.path()).value_or("") == "http://m.example/debian");
    const auto none = machine_mirror(dir.path() / "nothing");
    REQUIRE_FALSE(none);
    CHECK(none.error().code() == ErrorCode::kEnvironment);
}

TEST_CASE("whether apt takes expired indexes") {
    const auto dir = temporary();
    CHECK_FALSE(accepts_expired_indexes(dir.path()));
    put(dir.path() / "apt.conf.d/10x", "// Acquire::Check-Valid-Until \"false\";\n");
    CHECK_FALSE(accepts_expired_indexes(dir.path()));
    put(dir.path() / "apt.conf.d/20x", "Acquire::Check-Valid-Until \"false\";\n");
    CHECK(accepts_expired_indexes(dir.path()));
    put(dir.path() / "apt.conf", "Acquire::Check-Valid-Until \"true\";\n");
    CHECK_FALSE(accepts_expired_indexes(dir.path()));
}
