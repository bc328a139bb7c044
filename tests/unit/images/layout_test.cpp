// SPDX-License-Identifier: Apache-2.0
#include "images/container/layout_files.hpp"
#include "images/container/metadata.hpp"
#include "images/inspection/layout_root.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tree_sample.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

namespace {

std::string text_of_file(const fs::path& path) {
    auto bytes = read_file(path);
    REQUIRE(bytes);
    return *bytes;
}

unsigned mode_of(const fs::path& path) {
    struct stat status {};
    REQUIRE_MESSAGE(::lstat(path.c_str(), &status) == 0, path.string());
    CHECK(status.st_uid == ::geteuid());
    return status.st_mode & 07777U;
}

RootDirectory open_root(const fs::path& path) {
    auto root = RootDirectory::open(path);
    REQUIRE(root);
    return std::move(*root);
}

} // namespace

TEST_CASE("an empty root gets what a runtime expects") {
    const auto dir = scratch();
    const auto old_mask = ::umask(0077);
    const auto done = write_base_layout(dir.path());
    ::umask(old_mask);
    REQUIRE(done);
    for (const auto* path :
         {"dev", "proc", "sys", "root", "tmp", "var", "var/tmp", "home", "etc"}) {
        CHECK(mode_of(dir.path() / path) == 0755);
    }
    for (const auto* path :
         {"etc/hosts", "etc/resolv.conf", "etc/localtime", "etc/passwd", "etc/group"}) {
        CHECK(mode_of(dir.path() / path) == 0644);
    }
    for (const auto* name : {"exec", "run", "shell", "start", "test"}) {
        CHECK(mode_of(dir.path() / ".singularity.d/actions" / name) == 0755);
    }
    for (const auto* name :
         {"01-base", "90-environment", "94-appsbase", "95-apps", "99-base", "99-runtimevars"}) {
        CHECK(mode_of(dir.path() / ".singularity.d/env" / (std::string(name) + ".sh")) == 0755);
    }
    CHECK(mode_of(dir.path() / ".singularity.d/libs") == 0755);
    CHECK(mode_of(dir.path() / ".singularity.d/runscript") == 0755);
    CHECK(mode_of(dir.path() / ".singularity.d/startscript") == 0755);
    CHECK_FALSE(fs::exists(dir.path() / ".singularity.d/test"));
    CHECK(fs::read_symlink(dir.path() / ".exec") == ".singularity.d/actions/exec");
    CHECK(fs::read_symlink(dir.path() / "singularity") == ".singularity.d/runscript");
    CHECK(fs::read_symlink(dir.path() / "environment") == ".singularity.d/env/90-environment.sh");
}

TEST_CASE("what a base image has is kept") {
    const auto dir = scratch();
    put(dir.path() / "etc/hosts", "127.0.0.1 localhost\n");
    put(dir.path() / "etc/passwd", "root:x:0:0::/:/bin/ash\n");
    put(dir.path() / ".singularity.d/env/99-base.sh", "export THEIRS=1\n");
    fs::create_directories(dir.path() / "usr/home");
    fs::create_symlink("/usr/home", dir.path() / "home");
    fs::create_symlink("run/gone", dir.path() / "etc/resolv.conf");
    fs::create_symlink("gone/too", dir.path() / "root");
    fs::create_directories(dir.path() / "tmp");
    ::chmod((dir.path() / "tmp").c_str(), 01777);
    REQUIRE(write_base_layout(dir.path()));
    REQUIRE(write_base_layout(dir.path()));
    CHECK(text_of_file(dir.path() / "etc/hosts") == "127.0.0.1 localhost\n");
    CHECK(text_of_file(dir.path() / "etc/passwd") == "root:x:0:0::/:/bin/ash\n");
    CHECK(text_of_file(dir.path() / ".singularity.d/env/99-base.sh") == "export THEIRS=1\n");
    CHECK(mode_of(dir.path() / ".singularity.d/env/99-base.sh") == 0755);
    CHECK(fs::is_symlink(dir.path() / "home"));
    CHECK(mode_of(dir.path() / "tmp") == 01777);
    // A link that leads nowhere is no target for a bind.
    CHECK(fs::symlink_status(dir.path() / "etc/resolv.conf").type() == fs::file_type::regular);
    CHECK(fs::symlink_status(dir.path() / "root").type() == fs::file_type::directory);
}

TEST_CASE("links in a root file system never lead out of it") {
    for (const bool is_old_kernel : {false, true}) {
        const auto dir = scratch();
        const auto inside = dir.path() / "root";
        const auto outside = dir.path() / "outside";
        put(outside / "precious", "untouched");
        fs::create_directories(inside / "real");
        fs::create_symlink(outside, inside / "absolute");
        fs::create_symlink("../../../../../.." + outside.string(), inside / "upwards");
        fs::create_symlink("/real", inside / "good");
        fs::create_symlink("loop", inside / "loop");
        fs::create_symlink(outside / "precious", inside / "file");
        fs::create_symlink("..", inside / "real/up");
        auto root = open_root(inside);
        if (is_old_kernel) {
            root.resolve_without_openat2();
        }
        CHECK_FALSE(root.exists("absolute/precious"));
        CHECK_FALSE(root.exists("upwards/precious"));
        CHECK_FALSE(root.exists("../outside/precious"));
        CHECK_FALSE(root.exists("real/../../outside/precious"));
        CHECK_FALSE(root.exists("loop"));
        CHECK(root.exists("real/up/good"));
        CHECK(root.exists("../../real"));
        REQUIRE(root.make_directory("absolute/new", 0755)); // the dead link becomes a directory
        CHECK(fs::is_directory(inside / "absolute/new"));
        REQUIRE(root.write("good/file", "bytes", 0640));
        CHECK(text_of_file(inside / "real/file") == "bytes");
        CHECK(mode_of(inside / "real/file") == 0640);
        REQUIRE(root.write("file", "bytes", 0644)); // replaces the link
        REQUIRE(root.write_if_missing("file", "other", 0600));
        CHECK(text_of_file(inside / "file") == "bytes");
        CHECK(mode_of(inside / "file") == 0600);
        CHECK(*root.read("good/file") == "bytes");
        CHECK(*root.read("real/up/real/file") == "bytes");
        CHECK(root.list("good") == std::vector<std::string>{"file", "up"});
        CHECK_FALSE(root.write("loop/x", "1", 0644));
        CHECK_FALSE(root.write("real", "1", 0644)); // a directory
        CHECK_FALSE(root.read("real"));
        CHECK_FALSE(root.read("missing")->has_value());
        CHECK(text_of_file(outside / "precious") == "untouched");
        CHECK(std::distance(fs::directory_iterator(outside), {}) == 1);
    }
}

TEST_CASE("a fifo in the place of a file does not hang") {
    const auto dir = scratch();
    REQUIRE(::mkfifo((dir.path() / "f").c_str(), 0600) == 0);
    CHECK_FALSE(open_root(dir.path()).read("f"));
}

TEST_CASE("the shell parts are POSIX sh") {
    const auto dir = scratch();
    std::vector<std::string> files;
    for (const auto& file : embedded::singularity_files()) {
        put(dir.path() / file.name, std::string(file.bytes));
        files.push_back((dir.path() / file.name).string());
    }
    CHECK(files.size() == 13);
    Command check;
    check.argv = {"shellcheck", "-s", "sh"};
    check.argv.insert(check.argv.end(), files.begin(), files.end());
    const auto judged = run_process(check);
    REQUIRE(judged);
    CHECK_MESSAGE(judged->ok(), judged->output);
    for (const auto& file : files) {
        Command parse;
        parse.argv = {"dash", "-n", file};
        CHECK(run_process(parse)->ok());
    }
}

TEST_CASE("a directory is needed") {
    const auto refused = write_base_layout("/dev/null/nowhere");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kInput);
}
