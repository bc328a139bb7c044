// SPDX-License-Identifier: Apache-2.0
#include "support/file.hpp"
#include "support/presence.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace cybele;

namespace {

namespace fs = std::filesystem;

/// A folder with a file, a link that leads nowhere and one that leads to itself.
struct Links {
    TempDirectory directory = TempDirectory::make("/var/tmp", "presence-test").value();
    fs::path root = directory.path();

    Links() {
        REQUIRE(write_file(root / "file", "text"));
        fs::create_symlink("nowhere", root / "dangling");
        fs::create_symlink("loop", root / "loop");
    }
};

Fault missing() {
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.set(problem("verification-file-missing", "'k' is not there"));
    fault.where = Place{"site.yaml", 3, 1, {}};
    return fault;
}

} // namespace

TEST_CASE("only a file that is not there is absent; a link that leads nowhere is present") {
    const Links links;
    CHECK(is_present(links.root / "file", "x").value());
    CHECK(is_present(links.root / "dangling", "x").value());
    CHECK_FALSE(is_present(links.root / "none", "x").value());
    CHECK_FALSE(is_present(links.root / "none/below", "x").value());
    CHECK_FALSE(is_present(links.root / "file/below", "x").value());
}

TEST_CASE("a file that cannot be looked for is an error, which names the folder") {
    const Links links;
    const auto found = is_present(links.root / "loop/config.yaml", "your settings");
    REQUIRE_FALSE(found);
    CHECK(found.error().code() == ErrorCode::kEnvironment);
    const Fault& fault = found.error().faults().front();
    const std::string folder = (links.root / "loop").native();
    CHECK(fault.message == "cannot look into " + folder);
    CHECK(fault.because == "Too many levels of symbolic links; your settings may be there");
    CHECK(fault.help == "correct " + folder + ", or the link that leads there");
}

TEST_CASE("a folder that may not be entered is named with the command that opens it") {
    if (::geteuid() == 0) {
        MESSAGE("root enters each folder: tests/cli/attacks_files.bats tests it as a user");
        return;
    }
    const Links links;
    fs::create_directory(links.root / "closed");
    fs::permissions(links.root / "closed", fs::perms::none);
    const auto found = is_present(links.root / "closed/config.yaml", "your settings");
    fs::permissions(links.root / "closed", fs::perms::owner_all);
    REQUIRE_FALSE(found);
    const Fault& fault = found.error().faults().front();
    CHECK(fault.because == "Permission denied; your settings may be there");
    CHECK(fault.help ==
          "allow yourself to enter it: chmod u+rx " + (links.root / "closed").native());
}

TEST_CASE("a file that a document names: there, not there, or not to be looked for") {
    const Links links;
    CHECK_FALSE(why_absent(links.root / "file", "k", missing()));
    for (const char* name : {"none", "dangling", "file/below"}) {
        const auto absent = why_absent(links.root / name, "k", missing());
        REQUIRE(absent);
        CHECK(absent->message == "'k' is not there");
        CHECK(absent->code == ErrorCode::kInput);
    }
    const auto unseen = why_absent(links.root / "loop/k", "k", missing());
    REQUIRE(unseen);
    CHECK(unseen->message == "cannot look for 'k'");
    CHECK(unseen->because.starts_with("Too many levels of symbolic links: it would be in "));
    CHECK(unseen->code == ErrorCode::kEnvironment);
    CHECK(unseen->where->line == 3);
}
