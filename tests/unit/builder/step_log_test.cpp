// SPDX-License-Identifier: Apache-2.0
// What the output of a step says of its failure.
#include "builder/steps/step_log.hpp"

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("a line of apt names the package that is missing, lines of others do not") {
    CHECK(builder::missing_package("E: Unable to locate package bcc-no-such") == "bcc-no-such");
    CHECK(builder::missing_package("E: Package 'libmpi' has no installation candidate") ==
          "libmpi");
    CHECK(builder::missing_package("E: Version '9' for 'bc' was not found") == "bc");
    CHECK(builder::missing_package("config 'a' was not found").empty());
    CHECK(builder::missing_package("note: Unable to locate package x").empty());
    CHECK(builder::missing_package("").empty());
    CHECK(builder::first_missing_package("Reading lists\nE: Unable to locate package a\nE: x\n") ==
          "a");
    const std::string shown =
        builder::last_lines("Reading lists\nE: Unable to locate package a\n", 5);
    CHECK(builder::first_missing_package(shown) ==
          "a"); // as the end of a step's output is passed on
    CHECK(builder::first_missing_package("Reading lists\n").empty());
}

TEST_CASE("a repository that apt or dnf refuses is named by its own line") {
    CHECK(
        builder::refused_repository(
            "Hit:1 x\n  W: GPG error: y\n  E: The repository 'http://h/r stable InRelease' is not "
            "signed.\n") == "The repository 'http://h/r stable InRelease' is not signed.");
    CHECK(builder::refused_repository("E: Release file for http://h/r/dists/stable/InRelease is "
                                      "expired (invalid since 1d). Updates")
              .starts_with("Release file for http://h/r"));
    CHECK(builder::refused_repository("Reading lists\n").empty());
}

TEST_CASE("versions that apt does not have, and those that differ from a Lock, are recognized") {
    CHECK(
        builder::is_version_missing("  Reading lists\n  E: Version '9' for 'bc' was not found\n"));
    CHECK_FALSE(builder::is_version_missing("E: Unable to locate package bc\n"));
    CHECK(builder::differs_from_lock("x\n  libc6: locked 2.36-9, got 2.36-10\n"));
    CHECK_FALSE(builder::differs_from_lock("the door: locked at 9, got in\n"));
}
