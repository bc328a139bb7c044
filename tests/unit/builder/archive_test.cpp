// SPDX-License-Identifier: Apache-2.0
#include "builder/files/archive.hpp"
#include "builder/steps/tidy.hpp"
#include "support/process.hpp"
#include "temporary.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

struct stat status_of(const fs::path& path) {
    struct stat status {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status;
}

} // namespace

TEST_CASE("a tree survives a tar: names, modes, times, links, attributes") {
    const auto dir = temporary();
    const fs::path from = dir.path() / "from";
    const fs::path to = dir.path() / "to";
    const std::string odd = "F\xC5\x91tan\xC3\xBAs \xFF\xFE" + std::string(120, 'n');
    put(from / "sub" / odd, "odd");
    put(from / "a", std::string(3000000, 'a'));
    put(from / "empty", "");
    fs::create_hard_link(from / "a", from / "b");
    fs::create_symlink("../a", from / "sub/link");
    REQUIRE(::chmod((from / "a").c_str(), 04751) == 0);
    const bool has_attributes = ::setxattr((from / "a").c_str(), "user.x", "v", 1, 0) == 0;
    const std::array<timespec, 2> times{timespec{1000000000, 0}, timespec{1000000000, 5000}};
    REQUIRE(::utimensat(AT_FDCWD, (from / "empty").c_str(), times.data(), 0) == 0);
    fs::create_directories(to);
    REQUIRE(write_tar(from, dir.path() / "t.tar"));
    REQUIRE(extract_tar(dir.path() / "t.tar", to));
    CHECK(content(to / "sub" / odd) == "odd");
    CHECK(content(to / "a").size() == 3000000);
    CHECK((status_of(to / "a").st_mode & 07777) == 04751);
    CHECK(status_of(to / "a").st_ino == status_of(to / "b").st_ino);
    CHECK(fs::read_symlink(to / "sub/link") == "../a");
    CHECK(status_of(to / "empty").st_mtim.tv_sec == 1000000000);
    char value = 0;
    CHECK((!has_attributes || ::getxattr((to / "a").c_str(), "user.x", &value, 1) == 1));
}

TEST_CASE("an archive writes nothing outside, and a cut one is refused") {
    const auto dir = temporary();
    const fs::path to = dir.path() / "to";
    const fs::path outside = dir.path() / "outside";
    fs::create_directories(to);
    put(dir.path() / "in/x", "evil");
    fs::create_symlink(outside, dir.path() / "in/link");
    fs::create_directories(outside);
    const auto tar = [&](const std::vector<std::string>& options) {
        Command command;
        command.argv = {
            "tar", "-C", (dir.path() / "in").native(), "-cPf", (dir.path() / "t.tar").native()};
        command.argv.insert(command.argv.end(), options.begin(), options.end());
        const auto outcome = run_process(command);
        REQUIRE((outcome && outcome->ok()));
        return extract_tar(dir.path() / "t.tar", to);
    };
    CHECK_FALSE(tar({"--transform=s,x,../outside/x,", "x"}));
    CHECK_FALSE(tar({"--transform=s,x," + outside.native() + "/x,", "x"}));
    // A link first, then a file through it.
    put(dir.path() / "in/y", "evil");
    (void)tar({"--transform=flags=r;s,^y,link/y,", "link", "y"});
    CHECK(fs::is_empty(outside));
    put(dir.path() / "in/big", std::string(100000, 'x'));
    CHECK(tar({"big"}));
    fs::resize_file(dir.path() / "t.tar", 50000);
    const auto cut = extract_tar(dir.path() / "t.tar", to);
    REQUIRE_FALSE(cut);
    CHECK(cut.error().code() == ErrorCode::kInput);
}

TEST_CASE("tidying removes logs, lists and caches, and follows no link") {
    const auto dir = temporary();
    const fs::path root = dir.path() / "root";
    put(dir.path() / "outside/keep", "keep");
    put(root / "etc/machine-id", "0123");
    put(root / "var/log/dpkg.log", "x");
    put(root / "var/log/mine.log", "x");
    put(root / "var/lib/apt/lists/index", "x");
    put(root / "var/cache/apt/pkgcache.bin", "x");
    put(root / "var/lib/dpkg/status-old", "x");
    put(root / "var/lib/dpkg/status", "x");
    fs::create_symlink(dir.path() / "outside", root / "var/log/apt");
    REQUIRE(tidy(root));
    CHECK(content(root / "etc/machine-id").empty());
    CHECK_FALSE(fs::exists(root / "var/log/dpkg.log"));
    CHECK_FALSE(fs::exists(root / "var/lib/apt/lists/index"));
    CHECK_FALSE(fs::exists(root / "var/cache/apt/pkgcache.bin"));
    CHECK_FALSE(fs::exists(root / "var/lib/dpkg/status-old"));
    CHECK(fs::exists(root / "var/lib/dpkg/status"));
    CHECK(fs::exists(root / "var/log/mine.log"));
    CHECK(fs::exists(dir.path() / "outside/keep"));
    REQUIRE(tidy(dir.path() / "outside"));
}
