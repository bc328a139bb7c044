// SPDX-License-Identifier: Apache-2.0
#include "support/own_folder.hpp"
#include "support/own_path.hpp"
#include "support/trusted_folders.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;

namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 2345;
constexpr gid_t kGroup = 3456;

/// A folder `a/b` with a file `f`, all private.
struct Tree {
    TempDirectory directory = TempDirectory::make("/var/tmp", "own-path-test").value();
    fs::path root = directory.path();
    fs::path folder = root / "a" / "b";
    fs::path file = folder / "f";

    Tree() {
        REQUIRE(make_directories(folder, 0700));
        REQUIRE(write_file(file, "text", 0600));
    }
};

std::string reason(const fs::path& path, const OwnPathRules& rules = {}) {
    const auto opened = open_own(path, rules);
    return opened ? std::string() : opened.error().faults().front().because;
}

void set_mode(const fs::path& path, mode_t mode) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
}

} // namespace

TEST_CASE("a path counts where nobody else can write any component of it") {
    const Tree tree;
    CHECK(read_own_file(tree.file).value() == "text");
    CHECK(open_own(tree.folder, {.is_folder = true}));

    set_mode(tree.file, 0602);
    CHECK(reason(tree.file) == "other users can write " + tree.file.native() + " (owner " +
                                   std::to_string(::geteuid()) + ", mode 0602)");
    set_mode(tree.file, 0600);
    set_mode(tree.root / "a", 0777);
    CHECK(reason(tree.file).starts_with("other users can write " + (tree.root / "a").native()));
    set_mode(tree.root / "a", 01777); // what is in it is ours, and stays
    CHECK(reason(tree.file).empty());
    set_mode(tree.root / "a", 0755);
    CHECK(reason(tree.file).empty());
}

TEST_CASE("a link counts by its own folder and by all that it leads through") {
    const Tree tree;
    REQUIRE(make_directories(tree.root / "open", 0700));
    fs::create_symlink("../a/./b/f", tree.root / "open" / "relative");
    fs::create_symlink(tree.file, tree.root / "open" / "absolute");
    fs::create_symlink("loop", tree.root / "loop");
    CHECK(read_own_file(tree.root / "open" / "relative").value() == "text");
    CHECK(read_own_file(tree.root / "open" / "absolute").value() == "text");
    set_mode(tree.folder, 0777);
    CHECK(reason(tree.root / "open" / "relative").find("mode 0777") != std::string::npos);
    CHECK(reason(tree.root / "open" / "absolute").find("mode 0777") != std::string::npos);
    set_mode(tree.folder, 0700);
    set_mode(tree.root / "open", 0777);
    CHECK_FALSE(reason(tree.root / "open" / "relative").empty());
    CHECK(open_own(tree.root / "loop").error().code() == ErrorCode::kInput);
    CHECK(open_own(tree.root / "none").error().code() == ErrorCode::kInput);
    CHECK(open_own(tree.file, {.is_folder = true}).error().code() == ErrorCode::kInput);
    CHECK_FALSE(open_own(tree.folder));
    REQUIRE(::mkfifo((tree.root / "pipe").c_str(), 0600) == 0);
    CHECK(reason(tree.root / "pipe") == "it is not a regular file");
}

TEST_CASE("a path of another user, or of a group, counts only where that is allowed") {
    if (::geteuid() != 0) {
        MESSAGE("only root gives files away");
        return;
    }
    const Tree tree;
    REQUIRE(::chown(tree.file.c_str(), kStranger, 0) == 0);
    CHECK(reason(tree.file) == tree.file.native() + " belongs to user 2345 (mode 0600)");
    REQUIRE(::chown(tree.file.c_str(), 0, 0) == 0);

    REQUIRE(::chown(tree.folder.c_str(), kStranger, 0) == 0);
    CHECK(reason(tree.file) == tree.folder.native() + " belongs to user 2345 (mode 0700)");
    CHECK_FALSE(reason(tree.folder, OwnFolder::kOwnFolder).empty());
    OwnPathRules allowed = OwnFolder::kGroupFolder;
    allowed.has_any_owner = true;
    CHECK(reason(tree.folder, allowed).empty());
    CHECK_FALSE(reason(tree.folder / "f", {.has_any_owner = true}).empty()); // the last one alone

    REQUIRE(::chown(tree.folder.c_str(), 0, kGroup) == 0);
    set_mode(tree.folder, 0770);
    CHECK_FALSE(reason(tree.file).empty());
    CHECK(reason(tree.file, {.group_above = true}).empty());
    CHECK_FALSE(reason(tree.folder, OwnFolder::kOwnFolder).empty());
    CHECK(reason(tree.folder, OwnFolder::kGroupFolder).empty());
    set_mode(tree.folder, 0777);
    CHECK_FALSE(reason(tree.folder, OwnFolder::kGroupFolder).empty());
    set_mode(tree.folder, 01777);
    CHECK_FALSE(reason(tree.folder, OwnFolder::kOwnFolder).empty());
    CHECK(reason(tree.folder, OwnFolder::kScratch).empty());

    REQUIRE(::chown(tree.folder.c_str(), 0, 0) == 0); // the owner's own group
    set_mode(tree.folder, 0775);
    CHECK(reason(tree.file).empty());

    REQUIRE(::lchown(tree.file.c_str(), 0, 0) == 0);
    fs::create_symlink("a/b/f", tree.root / "link");
    CHECK(reason(tree.root / "link").empty());
    REQUIRE(::lchown((tree.root / "link").c_str(), kStranger, 0) == 0);
    CHECK(reason(tree.root / "link").find("belongs to user 2345") != std::string::npos);
}

TEST_CASE("folders are trusted by name, one by one, in a list that nobody else can write") {
    const Tree tree;
    const Environment environment(
        EnvironmentMap{{"CYBELE_CONFIG_DIR", (tree.root / "config").native()}});
    CHECK(TrustedFolders::load(environment)->all().empty());
    CHECK_FALSE(TrustedFolders::load(environment)->allows(tree.folder));
    REQUIRE(TrustedFolders::add(environment, tree.folder / "."));
    REQUIRE(TrustedFolders::add(environment, tree.folder)); // twice is once
    const auto trusted = TrustedFolders::load(environment).value();
    CHECK(trusted.all() == std::vector<fs::path>{tree.folder});
    CHECK(trusted.allows(tree.folder));
    CHECK_FALSE(trusted.allows(tree.root / "a"));
    CHECK_FALSE(trusted.allows(tree.root / "none"));
    CHECK(TrustedFolders::add(environment, tree.root / "none").error().code() == ErrorCode::kInput);
    CHECK(TrustedFolders::remove(environment, tree.root).error().code() == ErrorCode::kInput);

    const fs::path list = tree.root / "config" / "trusted-folders";
    set_mode(list, 0622);
    CHECK(TrustedFolders::load(environment).error().code() == ErrorCode::kEnvironment);
    set_mode(list, 0600);
    fs::remove_all(tree.folder);
    REQUIRE(TrustedFolders::remove(environment, tree.folder));
    CHECK(TrustedFolders::load(environment)->all().empty());
}
