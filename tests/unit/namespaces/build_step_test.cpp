// SPDX-License-Identifier: Apache-2.0
// What encloses a build step, by small programs in real namespaces. All that a hostile step tries:
// tests/cli/attacks_builds.bats.
#include "runtime/namespaces/build_step.hpp"
#include "runtime/namespaces/step_filter.hpp"
#include "tests/unit/namespaces/tiny_root.hpp"

#include <set>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

using namespace cybele;
using namespace cybele::namespaces;

namespace {

/// An enclosed script in a tree of one busybox, and what it printed.
struct Step {
    TempDirectory folder = tiny::make_folder();
    std::filesystem::path root = folder.path() / "root";

    Step() {
        tiny::make_root(root);
    }
    int run(const std::string& script) {
        Sandbox sandbox;
        sandbox.root = root;
        sandbox.new_pid_namespace = true;
        sandbox.argv = {"/bin/sh", "-c", script};
        sandbox.environment["PATH"] = "/bin";
        enclose_build_step(sandbox);
        const UniqueFd log(
            open((folder.path() / "log").c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0666));
        const auto code = run_sandboxed(sandbox, {log.get(), log.get()});
        if (!code) {
            (void)write_all(log.get(), code.error().faults().front().because, "log");
            return 255;
        }
        return *code;
    }
    [[nodiscard]] std::string log() const {
        return tiny::read(folder.path() / "log");
    }
};

} // namespace

TEST_CASE("a step of root's has every id, a /dev of its own, and settings that it cannot change") {
    Step step;
    CHECK(step.run("touch /file && chown 1234:4321 /file && stat -c %u:%g /file && id -u") == 0);
    CHECK(step.log() == "1234:4321\n0\n");
    CHECK(step.run("echo x >/proc/sys/kernel/domainname || echo refused") == 0);
    CHECK(step.log().find("refused") != std::string::npos);
    CHECK(step.run("ls /dev | tr '\\n' ' '; echo text >/dev/null && cat <&0") == 0);
    CHECK(step.log() == "fd full null ptmx pts random shm stderr stdin stdout urandom zero ");
    CHECK(step.run("mount -t tmpfs none /tmp || umount /proc/sys || echo refused") == 0);
    CHECK(step.log().find("refused") != std::string::npos);
}

TEST_CASE("a step cannot change the mode of the host's devices, nor of its input") {
    struct stat before = {};
    struct stat after = {};
    REQUIRE(stat("/dev/null", &before) == 0);
    Step step;
    std::filesystem::create_symlink("busybox", step.root / "bin/chmod");
    CHECK(step.run("chmod 777 /dev/null || chmod 777 /proc/self/fd/0 || echo refused") == 0);
    CHECK(step.log().find("refused") != std::string::npos);
    REQUIRE(stat("/dev/null", &after) == 0);
    CHECK(before.st_mode == after.st_mode);
}

TEST_CASE("a shell that leads to the program which builds is refused") {
    Step step;
    std::filesystem::remove(step.root / "bin/sh");
    tiny::write(step.root / "bin/other", "#!/proc/self/exe\n", 0755);
    tiny::write(step.root / "bin/sh", "#! /bin/other -x\n", 0755);
    CHECK(step.run("true") == 255);
    CHECK(step.log().find("/proc/self/exe") != std::string::npos);
}

TEST_CASE("the same as an ordinary user, with one id") {
    Step step;
    std::filesystem::permissions(step.folder.path(), std::filesystem::perms(0777));
    chown(step.root.c_str(), tiny::kUser, tiny::kUser);
    const int code = tiny::as_user([&] {
        const auto ended = run_in_namespaces(IdMap::kOwnRoot, [&] {
            return step.run("id -u; echo x >/proc/sys/kernel/domainname || mount -t tmpfs none "
                            "/tmp || echo refused");
        });
        return ended.value_or(99);
    });
    CHECK(code == 0);
    CHECK(step.log().starts_with("0\n"));
    CHECK(step.log().find("refused") != std::string::npos);
}

TEST_CASE("each call of the table is refused, and clone3 is not there; others work") {
    std::set<std::uint32_t> numbers;
    std::set<std::uint32_t> others;
    for (const RefusedCall& call : refused_in_steps()) {
        CAPTURE(call.name);
        CHECK(numbers.insert(call.number).second);
        CHECK((call.i386 == 0 || others.insert(call.i386).second));
        const int code = tiny::in_child([&] {
            if (!filter_build_step()) {
                return 1;
            }
            errno = 0;
            return syscall(call.number, -1, -1, -1, -1, -1) == -1 && errno == EPERM ? 0 : 2;
        });
        CHECK(code == 0);
    }
    const int code = tiny::in_child([] {
        if (!filter_build_step() || (syscall(SYS_clone3, nullptr, 0) != -1 || errno != ENOSYS)) {
            return 1;
        }
        if (unshare(CLONE_NEWUSER) != -1 || errno != EPERM || unshare(CLONE_FILES) != 0) {
            return 2;
        }
        return tiny::in_child([] { return 0; });
    });
    CHECK(code == 0);
}

#if defined(__x86_64__)
TEST_CASE("calls of 32-bit programs and of x32 are refused too") {
    const int code = tiny::in_child([] {
        if (!filter_build_step()) {
            return 1;
        }
        for (const RefusedCall& call : refused_in_steps()) {
            long answer = -1;
            if (call.i386 != 0) {
                __asm__ volatile("int $0x80"
                                 : "=a"(answer)
                                 : "a"(static_cast<long>(call.i386)), "b"(0L), "c"(0L), "d"(0L)
                                 : "memory");
            }
            if (answer != -EPERM && answer != -ENOSYS) {
                return 2;
            }
        }
        constexpr long kX32 = 0x40000000;
        return syscall(kX32 + SYS_getpid) == -1 && errno == ENOSYS ? 0 : 3;
    });
    CHECK(code == 0);
}
#endif

TEST_CASE(
    "where no user namespace is left, a step has the capabilities of owners and modes alone") {
    Step step;
    // Of a user namespace of its own, so that the machine's limit stays.
    const auto code = run_in_namespaces(IdMap::kSubordinate, [&] {
        const UniqueFd limit(open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC));
        if (write(limit.get(), "0", 1) != 1) {
            return 98;
        }
        return step.run("touch /file && chown 1234:4321 /file && stat -c %u:%g /file && "
                        "grep -E 'CapEff|CapBnd' /proc/self/status; mount -t tmpfs none /tmp || "
                        "echo x >/proc/sys/kernel/domainname || echo refused");
    });
    REQUIRE(code);
    CHECK(*code == 0);
    CHECK(step.log().starts_with("1234:4321\n"));
    CHECK(step.log().find("CapEff:\t00000000800401fb") != std::string::npos);
    CHECK(step.log().find("CapBnd:\t00000000800401fb") != std::string::npos);
    CHECK(step.log().find("refused") != std::string::npos);
}
