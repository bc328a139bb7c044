// SPDX-License-Identifier: Apache-2.0
// This program under other names: by links, second names and copies, and what only looks like it.
#include "support/file.hpp"
#include "support/own_program.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using namespace cybele;
namespace fs = std::filesystem;

TEST_CASE("this program is known under any name, by its file and not by its name alone") {
    const auto folder = TempDirectory::make(fs::temp_directory_path(), "own-program");
    REQUIRE(folder);
    const fs::path& here = folder->path();
    const fs::path own = fs::read_symlink("/proc/self/exe");
    CHECK(is_own_program(own));
    fs::create_symlink(own, here / "apptainer");
    fs::create_symlink("apptainer", here / "singularity");
    fs::copy_file(own, here / "copy");
    fs::create_hard_link(here / "copy", here / "second name");
    for (const char* name : {"apptainer", "singularity", "copy", "second name"}) {
        CAPTURE(name);
        CHECK(is_own_program(here / name));
    }
    // Another installation, whose version may be another one.
    REQUIRE(write_file(here / "cybelectl", "#!/bin/sh\n", 0755));
    fs::create_symlink("cybelectl", here / "other");
    CHECK(is_own_program(here / "other"));
    // Another program: of another size, and of the same.
    CHECK_FALSE(is_own_program("/bin/sh"));
    REQUIRE(write_file(here / "large", "#!/bin/sh\n", 0755));
    fs::resize_file(here / "large", fs::file_size(own));
    CHECK_FALSE(is_own_program(here / "large"));
    CHECK_FALSE(is_own_program(here / "none"));
    CHECK_FALSE(is_own_program(here));
    fs::create_symlink("loop", here / "loop");
    CHECK_FALSE(is_own_program(here / "loop"));
}
