// SPDX-License-Identifier: Apache-2.0
// .dockerignore by Docker's rules: the cases of its documentation, those of moby's patternmatcher,
// and what Docker refuses.
#include "builder/files/ignore_file.hpp"
#include "support/file.hpp"

#include <chrono>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::builder;

namespace {

struct Case {
    const char* what;
    const char* text;
    const char* path;
    std::size_t line; ///< that leaves it out; 0: it is taken
};

constexpr Case kCases[] = {
    // The documentation's example.
    {"a comment", "# comment\n*/temp*\n*/*/temp*\ntemp?\n", "# comment", 0},
    {"one folder down", "# comment\n*/temp*\n*/*/temp*\ntemp?\n", "somedir/temporary.txt", 2},
    {"a folder one down", "# comment\n*/temp*\n*/*/temp*\ntemp?\n", "somedir/temp", 2},
    {"below such a folder", "# comment\n*/temp*\n*/*/temp*\ntemp?\n", "somedir/temp/x", 2},
    {"two down", "# comment\n*/temp*\n*/*/temp*\ntemp?\n", "somedir/sub/temporary.txt", 3},
    {"not at the root", "*/temp*\n", "temporary.txt", 0},
    {"? is one character", "temp?\n", "tempa", 1},
    {"? is not none", "temp?\n", "temp", 0},
    {"? is not two", "temp?\n", "tempab", 0},
    {"? is no slash", "a?b\n", "a/b", 0},
    {"? is one of UTF-8", "temp?\n", "temp\xC3\xA4", 1},
    // `*` and `**`.
    {"* within a component", "*.go\n", "main.go", 1},
    {"* is no folder", "*.go\n", "cmd/main.go", 0},
    {"** anywhere", "**/*.go\n", "cmd/tool/main.go", 1},
    {"** at the root too", "**/*.go\n", "main.go", 1},
    {"** in the middle", "a/**/b\n", "a/x/y/b", 1},
    {"** in the middle is none", "a/**/b\n", "a/b", 1},
    {"** at the end", "a/**\n", "a/x/y", 1},
    {"** at the end leaves the folder", "a/**\n", "a", 0},
    {"** alone", "**\n", "a/b/c", 1},
    {"* alone", "*\n", "a", 1},
    {"* alone, below", "*\n", "a/b", 1},
    {"** before a text is an end", "**temp\n", "sub/mytemp", 1},
    {"** before a pattern is components", "**temp?\n", "sub/mytempa", 0},
    {"** behind a text", "abc**\n", "abcd/e", 1},
    {"several", "a/**/b/**/c\n", "a/1/b/2/3/c", 1},
    // `!`: the last line that matches decides.
    {"an exception", "*.md\n!README.md\n", "README.md", 0},
    {"others stay out", "*.md\n!README.md\n", "NOTES.md", 1},
    {"out again", "*.md\n!README*.md\nREADME-secret.md\n", "README-secret.md", 3},
    {"the middle one", "*.md\n!README*.md\nREADME-secret.md\n", "README-a.md", 0},
    {"no effect of one before", "*.md\nREADME-secret.md\n!README*.md\n", "README-secret.md", 0},
    {"below a folder", "docs\n!docs/keep\n", "docs/keep", 0},
    {"beside it", "docs\n!docs/keep\n", "docs/other", 1},
    {"below an exception", "*\n!src\n", "src/deep/file", 0},
    {"all but", "*\n!src\n", "README", 1},
    {"an exception first", "!a\na\n", "a", 2},
    {"a blank behind !", "*\n! a\n", "a", 0},
    // What the text is cleaned of.
    {"a slash at the beginning", "/foo/bar\n", "foo/bar", 1},
    {"none", "foo/bar\n", "foo/bar", 1},
    {"not deeper", "foo/bar\n", "x/foo/bar", 0},
    {"a slash at the end", "foo/\n", "foo", 1},
    {"below it", "foo/\n", "foo/bar", 1},
    {"a file of that name too", "foo/\n", "foo", 1},
    {". in it", "./foo/./bar\n", "foo/bar", 1},
    {".. in it", "foo/../bar\n", "bar", 1},
    {"two slashes", "foo//bar\n", "foo/bar", 1},
    {". alone is passed over", ".\n", "foo", 0},
    {"/ alone is passed over", "/\n", "foo", 0},
    {"blanks around it", "  foo \t\n", "foo", 1},
    {"a line end of Windows", "foo\r\nbar\r\n", "bar", 2},
    {"a byte order mark",
     "\xEF\xBB\xBF"
     "foo\n",
     "foo",
     1},
    {"blank lines count", "\n\nfoo\n", "foo", 3},
    {"a # behind blanks is none", " # foo\n", "# foo", 1},
    {"an exception with a slash", "*\n!/foo\n", "foo", 0},
    // Classes and backslashes.
    {"a class", "[ab].txt\n", "a.txt", 1},
    {"not in it", "[ab].txt\n", "c.txt", 0},
    {"a range", "[0-9]x\n", "7x", 1},
    {"out of it", "[0-9]x\n", "ax", 0},
    {"negated", "[^0-9]x\n", "ax", 1},
    {"negated, in it", "[^0-9]x\n", "7x", 0},
    {"a protected end", "[\\]]x\n", "]x", 1},
    {"a protected star", "\\*x\n", "*x", 1},
    {"a protected star is no other", "\\*x\n", "ax", 0},
    {"a protected #", "\\#x\n", "#x", 1},
    {"a protected !", "\\!x\n", "!x", 1},
    {"a dot is a dot", "a.c\n", "abc", 0},
    {"a plus is a plus", "a+\n", "aa", 0},
    {"capitals count", "FOO\n", "foo", 0},
    {"a whole name", "foo\n", "foobar", 0},
};

} // namespace

TEST_CASE("what Docker leaves out is left out, by the line that decides") {
    for (const Case& one : kCases) {
        CAPTURE(one.what);
        CAPTURE(one.text);
        const auto file = IgnoreFile::parse(one.text, ".dockerignore");
        REQUIRE(file);
        CHECK(file->line_for(one.path).value_or(0) == one.line);
    }
}

TEST_CASE("patterns that Docker refuses are refused with their place") {
    for (const char* text :
         {"a\n!\n", "a\n! \n", "a\nb[\n", "a\n[]a]\n", "a\n[a-]\n", "a\n[-a]\n", "a\nx\\\n"}) {
        CAPTURE(text);
        const auto file = IgnoreFile::parse(text, "dir/.dockerignore");
        REQUIRE_FALSE(file);
        const Fault& fault = file.error().faults().front();
        CHECK(fault.code == ErrorCode::kInput);
        REQUIRE(fault.where);
        CHECK(fault.where->file == "dir/.dockerignore");
        CHECK(fault.where->line == 2);
    }
}

TEST_CASE("a pattern of many stars ends") {
    std::string pattern;
    for (int i = 0; i < 40; ++i) {
        pattern += "*a**/";
    }
    const std::string path(2000, 'a');
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(matches_ignore_pattern(pattern + "b", path));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}

TEST_CASE("a .containerignore is taken before a .dockerignore") {
    auto folder = TempDirectory::make(std::filesystem::temp_directory_path(), "ignore-test");
    REQUIRE(folder);
    REQUIRE(IgnoreFile::read(folder->path()));
    CHECK_FALSE(IgnoreFile::read(folder->path())->line_for("a"));
    REQUIRE(write_file(folder->path() / ".dockerignore", "a\n"));
    CHECK(IgnoreFile::read(folder->path())->name_of_line(1) == ".dockerignore:1");
    CHECK(IgnoreFile::read(folder->path())->line_for("a") == 1);
    REQUIRE(write_file(folder->path() / ".containerignore", "b\n!b/c\n"));
    const auto file = IgnoreFile::read(folder->path());
    REQUIRE(file);
    CHECK_FALSE(file->line_for("a"));
    CHECK(file->line_for("b") == 1);
    CHECK(file->has_exceptions());
    CHECK(file->name_of_line(1) == ".containerignore:1");
}
