// SPDX-License-Identifier: Apache-2.0
#include "support/file.hpp"
#include "support/own_folder.hpp"

#include <filesystem>

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("a folder of our own is made, private, or refused with the variable that moves it") {
    const auto directory = TempDirectory::make("/var/tmp", "own-folder-test");
    REQUIRE(directory);
    const auto folder = directory->path() / "a" / "b";
    REQUIRE(make_own_folder({folder, "the cache", "CYBELE_CACHE_DIR"}));
    CHECK((std::filesystem::status(folder).permissions() & std::filesystem::perms::mask) ==
          std::filesystem::perms::owner_all);
    REQUIRE(make_own_folder({folder, "the cache", "CYBELE_CACHE_DIR"}));

    const auto refused = make_own_folder({"/proc/none", "the cache", "CYBELE_CACHE_DIR"});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kEnvironment);
    CHECK(refused.error().message() == "the cache cannot be stored in /proc/none");
    CHECK(refused.error().faults().front().help ==
          "name a folder that you can write: CYBELE_CACHE_DIR=DIR");
}
