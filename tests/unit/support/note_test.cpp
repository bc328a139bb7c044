// SPDX-License-Identifier: Apache-2.0
#include "support/file.hpp"
#include "support/note.hpp"

#include <filesystem>
#include <iterator>

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace cybele;
namespace fs = std::filesystem;

TEST_CASE("a note is private, replaces the one before it, and leaves nothing else") {
    const auto made = TempDirectory::make(fs::temp_directory_path(), "note-test");
    REQUIRE(made);
    const fs::path note = made->path() / "note";
    REQUIRE(write_note(note, "a long one"));
    REQUIRE(write_note(note, "short"));
    CHECK(read_file(note).value_or("") == "short");
    struct stat status {};
    REQUIRE(::stat(note.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600);
    fs::create_directory(made->path() / "folder");
    CHECK_FALSE(write_note(made->path() / "folder", "text"));
    CHECK_FALSE(write_note(made->path() / "none" / "note", "text"));
    CHECK(std::distance(fs::directory_iterator(made->path()), fs::directory_iterator()) == 2);
}
