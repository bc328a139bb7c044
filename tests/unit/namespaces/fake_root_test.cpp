// SPDX-License-Identifier: Apache-2.0
// In a user namespace of one id, what package managers do seems to work.
#include "runtime/namespaces/fake_root.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <functional>

#include <doctest/doctest.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

/// Gives the number of the first check that failed, 0 when all held.
int first_failure(const std::initializer_list<std::function<bool()>>& checks) {
    int number = 0;
    for (const auto& check : checks) {
        ++number;
        if (!check()) {
            return number;
        }
    }
    return 0;
}

} // namespace

TEST_CASE("owners, ids and devices are feigned; FIFOs and whiteouts are made") {
    auto dir = TempDirectory::make(fs::temp_directory_path(), "fake-root-test");
    REQUIRE(dir);
    const fs::path file = dir->path() / "file";
    REQUIRE(write_file(file, "content"));
    const auto code = namespaces::run_in_namespaces(namespaces::IdMap::kOwnRoot, [&] {
        struct stat status {};
        const auto is = [&](const char* name, mode_t type) {
            return ::lstat((dir->path() / name).c_str(), &status) == 0 &&
                   (status.st_mode & S_IFMT) == type;
        };
        return first_failure({
            [&] { return ::chown(file.c_str(), 5, 6) != 0; }, // the kernel refuses it so far
            [&] { return namespaces::fake_ownership().has_value(); },
            [&] { return ::chown(file.c_str(), 5, 6) == 0 && ::lchown(file.c_str(), 5, 6) == 0; },
            [&] { return ::stat(file.c_str(), &status) == 0 && status.st_uid == 0; },
            [&] { return ::setgroups(0, nullptr) == 0; },
            [&] { return ::setresgid(5, 5, 5) == 0 && ::setresuid(5, 5, 5) == 0; },
            [&] { return ::geteuid() == 0; },
            [&] {
                return ::mknod((dir->path() / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0;
            },
            [&] { return !is("null", S_IFCHR); },
            [&] { return ::mkfifo((dir->path() / "fifo").c_str(), 0600) == 0; },
            [&] { return is("fifo", S_IFIFO); },
            [&] { return ::mknod((dir->path() / "white").c_str(), S_IFCHR, 0) == 0; },
            [&] { return is("white", S_IFCHR) && status.st_rdev == 0; },
            [&] { return ::mknod((dir->path() / "plain").c_str(), S_IFREG | 0600, 0) == 0; },
            [&] { return is("plain", S_IFREG); },
        });
    });
    REQUIRE(code);
    CHECK(*code == 0);
}
