// SPDX-License-Identifier: Apache-2.0
// The sandbox under a filter that knows no system call newer than Linux 4.18.
#include "runtime/namespaces/resolve.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "tests/unit/namespaces/old_kernel.hpp"
#include "tests/unit/namespaces/tiny_root.hpp"

#include <cerrno>

#include <sys/stat.h>

using namespace cybele;
using namespace cybele::namespaces;

namespace {

int trial(const std::filesystem::path& folder, bool is_user) {
    Sandbox sandbox;
    sandbox.root = folder / "root";
    sandbox.environment["PATH"] = "/bin";
    sandbox.argv = {"sh",
                    "-c",
                    "cat /tmp/data/file > /dev/null && ! touch /tmp/data/x 2>/dev/null && "
                    "! touch /tmp/data/sub/x 2>/dev/null && ! touch /x 2>/dev/null && exit 33"};
    Mount tmpfs;
    tmpfs.kind = Mount::Kind::kTmpfs;
    tmpfs.target = "/tmp";
    Mount data;
    data.source = folder / "data";
    data.target = "/link/data";
    data.is_read_only = true;
    Mount file;
    file.source = folder / "data/file";
    file.target = "/etc/passwd";
    Mount null;
    null.source = "/dev/null";
    null.target = "/dev/null";
    sandbox.mounts = {tmpfs, data, file, null};
    sandbox.is_root_read_only = true;
    if (is_user) {
        sandbox.final_ids = Sandbox::Ids{geteuid(), getegid()};
    }
    const auto code = run_in_namespaces(is_user ? IdMap::kOwnRoot : IdMap::kNone, [&] {
        const auto ran = run_sandboxed(sandbox);
        if (!ran) {
            MESSAGE(ran.error().message(), ": ", ran.error().faults().front().because);
        }
        return ran.value_or(2);
    });
    return code.value_or(1);
}

} // namespace

TEST_CASE("the sandbox works with the calls of Linux 4.18") {
    const auto folder = tiny::make_folder();
    tiny::make_root(folder.path() / "root");
    tiny::write(folder.path() / "root/dev/null", "");
    tiny::write(folder.path() / "data/file", "content\n");
    std::filesystem::create_directory(folder.path() / "data/sub");
    std::filesystem::create_directory_symlink("/tmp", folder.path() / "root/link");
    for (const unsigned answer : {unsigned{ENOSYS}, unsigned{EPERM}}) {
        CAPTURE(answer);
        CHECK(tiny::in_child([&] {
                  tiny::forget_new_calls(answer);
                  return trial(folder.path(), false);
              }) == 33);
        CHECK(tiny::as_user([&] {
                  tiny::forget_new_calls(answer);
                  return trial(folder.path(), true);
              }) == 33);
    }
    CHECK(!std::filesystem::exists(folder.path() / "data/x"));
}

TEST_CASE("the walk and openat2 agree") {
    const auto folder = tiny::make_folder();
    const auto root = folder.path() / "root";
    tiny::write(root / "a/b/file", "");
    std::filesystem::create_symlink("/a", root / "to-a");
    std::filesystem::create_symlink("loop", root / "loop");
    std::filesystem::create_symlink("../../../../a/b", root / "a/up");
    std::filesystem::create_symlink("/not/there", root / "dangling");
    const UniqueFd fd(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const char* paths[] = {"/",
                           "/a/b/file",
                           "to-a/b",
                           "/loop",
                           "/a/up/file",
                           "/../..",
                           "dangling",
                           "/a/b/file/x",
                           "/to-a/../a/./b//file",
                           "/../a"};
    const auto look = [&](const char* path) {
        const auto opened = open_in_root(fd.get(), path);
        struct stat status = {};
        if (!opened || fstat(opened->get(), &status) != 0) {
            return -errno;
        }
        return static_cast<int>(status.st_ino);
    };
    for (const char* path : paths) {
        CAPTURE(path);
        const int by_kernel = look(path);
        const int is_same = tiny::in_child([&] {
            tiny::forget_new_calls(ENOSYS);
            return look(path) == by_kernel ? 34 : 1;
        });
        CHECK(is_same == 34);
    }
    CHECK(resolve_in_root(fd.get(), "/to-a/b/none/deep").existing == "/a/b");
    CHECK(resolve_in_root(fd.get(), "/to-a/b/none/deep").missing == "none/deep");
    // A dangling link is followed inside the root.
    const auto made = make_in_root(fd.get(), "/dangling", {});
    REQUIRE(made);
    CHECK(std::filesystem::is_directory(root / "not/there"));
}
