// SPDX-License-Identifier: Apache-2.0
#include "support/directory.hpp"
#include "support/file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

using namespace cybele;

TEST_CASE(
    "the names in a directory: sorted by their bytes, hidden ones too, twice from one descriptor") {
    auto made = TempDirectory::make("/var/tmp", "cybele-names-");
    REQUIRE(made);
    for (const char* name : {"b", "B", ".a", "..c", "\xC3\xA9"}) {
        REQUIRE(write_file(made->path() / name, ""));
    }
    const UniqueFd fd(::open(made->path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::vector<std::string> all = {"..c", ".a", "B", "b", "\xC3\xA9"};
    CHECK(names_in(fd.get(), made->path()).value_or(std::vector<std::string>()) == all);
    CHECK(names_in(fd.get(), made->path()).value_or(std::vector<std::string>()) == all);
}

TEST_CASE("what is not a directory is an error with its name") {
    const UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const auto names = names_in(fd.get(), "/dev/null");
    REQUIRE_FALSE(names);
    CHECK(names.error().message() == "cannot list the directory /dev/null");
}
