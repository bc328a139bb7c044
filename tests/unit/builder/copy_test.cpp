// SPDX-License-Identifier: Apache-2.0
// The rules of %files, as they were seen with Apptainer.
#include "builder/files/copy.hpp"
#include "support/encoding.hpp"
#include "temporary.hpp"

#include <sys/stat.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

/// A host folder with sources and an image's tree.
struct Setting {
    TempDirectory directory = temporary();
    fs::path host = directory.path() / "host";
    fs::path root = directory.path() / "root";

    Setting() {
        put(host / "file", "text");
        fs::permissions(host / "file", fs::perms::owner_read | fs::perms::owner_write);
        put(host / "other", "more");
        put(host / "dir/inner", "in");
        put(host / "dir/deep/leaf", "leaf");
        fs::create_symlink("inner", host / "dir/link");
        fs::create_symlink("file", host / "link");
        fs::create_symlink("nowhere", host / "dangling");
        fs::create_directories(root / "exists");
    }
    Result<void>
    copy(const std::string& source, const std::string& destination, bool is_stage = false) {
        const CopyFrom from = is_stage ? CopyFrom{host, "/", true} : CopyFrom{"/", host, false};
        const definitions::FileLine line{source, destination, 7, source + " " + destination};
        CYBELE_TRY(const Copy found, find_sources(line, from, {{"V", "file"}}, "x.def"));
        return copy_files(found, from, root);
    }
};

} // namespace

TEST_CASE("files: renamed, into folders, modes") {
    Setting at;
    CHECK(at.copy("file", "/d/x"));
    CHECK(content(at.root / "d/x") == "text");
    CHECK(at.copy("file", "/e/"));
    CHECK(content(at.root / "e/file") == "text");
    CHECK(at.copy("file", "/exists"));
    CHECK(content(at.root / "exists/file") == "text");
    struct stat status {};
    REQUIRE(::stat((at.root / "d/x").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);
    CHECK(at.copy("other", "/d/x"));
    CHECK(content(at.root / "d/x") == "more");
    CHECK(at.copy("$V", "~/x"));
    CHECK(content(at.root / "~/x") == "text");
}

TEST_CASE("folders: contents where the destination is absent, below it where it exists") {
    Setting at;
    CHECK(at.copy("dir", "/f"));
    CHECK(content(at.root / "f/inner") == "in");
    CHECK(content(at.root / "f/deep/leaf") == "leaf");
    CHECK(at.copy("dir/", "/f"));
    CHECK(content(at.root / "f/dir/inner") == "in");
    CHECK(at.copy("dir", "/g/"));
    CHECK(content(at.root / "g/dir/inner") == "in");
}

TEST_CASE("links of the host are followed, those below a stage's source stay") {
    Setting at;
    CHECK(at.copy("dir", "/host"));
    CHECK_FALSE(fs::is_symlink(at.root / "host/link"));
    CHECK(content(at.root / "host/link") == "in");
    CHECK(at.copy("/dir", "/stage", true));
    CHECK(fs::is_symlink(at.root / "stage/link"));
    CHECK(at.copy("/link", "/first", true));
    CHECK_FALSE(fs::is_symlink(at.root / "first"));
    CHECK(content(at.root / "first") == "text");
}

TEST_CASE("a link of the image to a file is written through, inside of the tree") {
    Setting at;
    put(at.root / "b/x", "old");
    fs::create_directories(at.root / "b/c");
    fs::create_symlink("b/c", at.root / "a");
    fs::create_symlink("../x", at.root / "b/c/link");
    CHECK(at.copy("file", "/a/link"));
    CHECK(content(at.root / "b/x") == "text");
    CHECK(fs::is_symlink(at.root / "b/c/link"));
    CHECK_FALSE(fs::exists(at.root / "x"));
    fs::create_symlink("../../../../b/x", at.root / "above");
    CHECK(at.copy("other", "/above"));
    CHECK(content(at.root / "b/x") == "more");
}

TEST_CASE("what is missing or ambiguous is refused with its line") {
    Setting at;
    for (const char* source : {"none", "dangling", "none*"}) {
        const auto refused = at.copy(source, "/x");
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == ErrorCode::kInput);
        CHECK(refused.error().faults().front().where.value_or(Place()).line == 7);
    }
    const auto several = at.copy("{file,other}", "/one");
    REQUIRE_FALSE(several);
    CHECK(several.error().code() == ErrorCode::kInput);
    CHECK(several.error().faults().front().where.value_or(Place()).line == 7);
    CHECK_FALSE(fs::exists(at.root / "one"));
    CHECK(at.copy("{file,other}", "/exists"));
    CHECK(content(at.root / "exists/other") == "more");
    CHECK(at.copy("{file,other}", "/many/"));
    CHECK(content(at.root / "many/other") == "more");
}

TEST_CASE("nothing is written outside of the tree") {
    Setting at;
    const fs::path outside = at.directory.path() / "outside";
    fs::create_directories(outside);
    fs::create_symlink(outside, at.root / "absolute");
    fs::create_symlink("../outside", at.root / "relative");
    fs::create_symlink("/exists/target", at.root / "exists/over");
    CHECK(at.copy("file", "/../../up"));
    CHECK(content(at.root / "up") == "text");
    (void)at.copy("file", "/absolute/x");
    (void)at.copy("file", "/relative/x");
    CHECK(fs::is_empty(outside));
    CHECK(at.copy("file", "/exists/over"));
    CHECK_FALSE(fs::is_symlink(at.root / "exists/over"));
    CHECK(at.copy("/../../dir/inner", "/clamped", true));
    CHECK(content(at.root / "clamped") == "in");
}

TEST_CASE("the digest follows contents, modes and names") {
    Setting at;
    const CopyFrom from{"/", at.host, false};
    auto files = registry::KnownFiles::open(at.host, true);
    const auto digest = [&] {
        const auto found = find_sources({"dir", "/d", 1, ""}, from, {}, "x.def");
        REQUIRE(found);
        Sha256 sum;
        add_to_digest(found->destination, list_all(*found, from, files), sum);
        return hex(sum.finish());
    };
    const std::string before = digest();
    CHECK(digest() == before);
    put(at.host / "dir/deep/leaf", "LEAF");
    const std::string changed = digest();
    CHECK(changed != before);
    fs::permissions(at.host / "dir/inner", fs::perms::owner_all);
    CHECK(digest() != changed);
}

TEST_CASE(
    "what would be copied is listed with modes and contents, folders before what is in them") {
    Setting at;
    auto files = registry::KnownFiles::none();
    const auto listed = [&](const std::string& source, const CopyFrom& from) {
        const auto found = find_sources({source, "/d", 1, ""}, from, {}, "x.def");
        REQUIRE(found);
        return list_all(*found, from, files).files;
    };
    const auto host = listed("dir", {"/", at.host, false});
    REQUIRE(host.size() == 5);
    CHECK(host[0].path == at.host / "dir");
    CHECK(S_ISDIR(host[0].mode));
    CHECK(host[0].content.empty());
    CHECK(host[2].path == at.host / "dir/deep/leaf");
    CHECK(host[2].content == hex(sha256("leaf")));
    CHECK(host[4].path == at.host / "dir/link"); // followed
    CHECK(host[4].content == hex(sha256("in")));
    const auto stage = listed("/dir", {at.host, "/", true});
    REQUIRE(stage.size() == 5);
    CHECK(S_ISLNK(stage[4].mode));
    CHECK(stage[4].content == "inner");
}
