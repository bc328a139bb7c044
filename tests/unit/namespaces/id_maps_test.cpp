// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/accounts.hpp"
#include "runtime/namespaces/explain.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "tests/unit/namespaces/tiny_root.hpp"

#include <cerrno>
#include <csignal>
#include <thread>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

using namespace cybele;
using namespace cybele::namespaces;

namespace {

/// Lets the user nobody have subordinate ids, for this process and its children only.
void grant_subordinate_ids(const std::filesystem::path& folder, const std::string& line) {
    tiny::write(folder / "sub", line);
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        _exit(98);
    }
    for (const char* file : {"/etc/subuid", "/etc/subgid"}) {
        if (mount((folder / "sub").c_str(), file, nullptr, MS_BIND, nullptr) != 0) {
            _exit(97);
        }
    }
}

int identity_trial() {
    const auto code = run_in_namespaces(IdMap::kIdentity, [] {
        if (geteuid() != tiny::kUser || getegid() != tiny::kUser) {
            return 2;
        }
        return mount("tmpfs", "/tmp", "tmpfs", 0, "") == 0 ? 17 : 3;
    });
    return code.value_or(1);
}

} // namespace

TEST_CASE("identity: the same ids, and mounts are allowed") {
    CHECK(tiny::as_user(identity_trial) == 17);
    // In a user namespace already.
    CHECK(tiny::as_user([] {
              return run_in_namespaces(IdMap::kIdentity, identity_trial).value_or(4);
          }) == 17);
}

TEST_CASE("subordinate: a whole range of ids by newuidmap") {
    const auto folder = tiny::make_folder();
    std::filesystem::create_directory(folder.path() / "free");
    std::filesystem::permissions(folder.path() / "free", std::filesystem::perms(0777));
    const int code = tiny::in_child([&] {
        grant_subordinate_ids(folder.path(), "nobody:200000:65536\n");
        tiny::become_user();
        const auto ran = run_in_namespaces(IdMap::kSubordinate, [&] {
            const std::string file = folder.path() / "free/file";
            tiny::write(file, "x");
            const bool changed = chown(file.c_str(), 42, 65535) == 0;
            return geteuid() == 0 && getegid() == 0 && changed ? 18 : 2;
        });
        return ran.value_or(1);
    });
    CHECK(code == 18);
    struct stat status = {};
    REQUIRE(stat((folder.path() / "free/file").c_str(), &status) == 0);
    CHECK(status.st_uid == 200041);
    CHECK(status.st_gid == 265534);
}

TEST_CASE("subordinate as root maps root's own ids") {
    const auto code = run_in_namespaces(IdMap::kSubordinate,
                                        [] { return setresuid(1000, 1000, 1000) == 0 ? 19 : 1; });
    CHECK(code.value_or(255) == 19);
}

TEST_CASE("a missing range names its line") {
    const auto folder = tiny::make_folder();
    for (const char* line : {"", "nobody:200000:1000\n"}) {
        const int code = tiny::in_child([&] {
            grant_subordinate_ids(folder.path(), line);
            tiny::become_user();
            const auto ran = run_in_namespaces(IdMap::kSubordinate, [] { return 0; });
            if (ran) {
                return 1;
            }
            const Fault& fault = ran.error().faults().front();
            const bool is_told = fault.help.find("nobody:100000:65536") != std::string::npos &&
                                 fault.because.find("/etc/subuid") != std::string::npos;
            return is_told && fault.code == ErrorCode::kEnvironment ? 20 : 2;
        });
        CHECK(code == 20);
    }
}

TEST_CASE("refusals are explained by the switch that makes them") {
    const Error limit = explain_user_namespace(problem("test", "cannot"), ENOSPC);
    CHECK(limit.faults().front().because.find("max_user_namespaces") != std::string::npos);
    // A real limit: of a user namespace, which its owner may set.
    const int code = tiny::as_user([] {
        return run_in_namespaces(
                   IdMap::kOwnRoot,
                   [] {
                       const UniqueFd limit_file(
                           open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC));
                       if (!limit_file.valid() || ::write(limit_file.get(), "0", 1) != 1) {
                           return 3;
                       }
                       const auto inner = run_in_namespaces(IdMap::kIdentity, [] { return 0; });
                       if (inner) {
                           return 4;
                       }
                       const std::string because = inner.error().faults().front().because;
                       return because == "user.max_user_namespaces is 0" ? 21 : 5;
                   })
            .value_or(6);
    });
    CHECK(code == 21);
    const int chrooted = tiny::as_user([] {
        return run_in_namespaces(IdMap::kOwnRoot,
                                 [] {
                                     if (chroot("/usr") != 0) {
                                         return 7;
                                     }
                                     const auto inner =
                                         run_in_namespaces(IdMap::kIdentity, [] { return 0; });
                                     return inner ? 8 : 22;
                                 })
            .value_or(9);
    });
    CHECK(chrooted == 22);
}

TEST_CASE("abilities are found by trying") {
    const Abilities root = probe_abilities();
    CHECK(root.is_root);
    CHECK(root.user_namespaces);
    CHECK(root.subordinate_ids);
    const int code = tiny::as_user([] {
        const Abilities user = probe_abilities();
        if (user.is_root || !user.user_namespaces || user.loop || user.subordinate_ids) {
            return 1;
        }
        const bool can_open = access("/dev/fuse", R_OK | W_OK) == 0;
        if (user.fuse != can_open || (!can_open && user.fuse_because.empty())) {
            return 2;
        }
        return user.subordinate_ids_because.find("65536") != std::string::npos ? 23 : 3;
    });
    CHECK(code == 23);
}

TEST_CASE("accounts are found in the files") {
    CHECK(account_field(passwd_line(0).value_or(""), 0) == "root");
    CHECK(account_field(group_line(0).value_or(""), 0) == "root");
    CHECK(!passwd_line(4294900000U));
    CHECK(account_field("a:b", 5).empty());
}

TEST_CASE("signals reach the child, its code comes back") {
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(run_in_namespaces(IdMap::kNone, [] {
                  std::signal(SIGUSR1, [](int) { _exit(24); });
                  std::signal(SIGTERM, [](int) { _exit(25); });
                  for (;;) {
                      pause();
                  }
                  return 0;
              }).value_or(1));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(pid, SIGTERM);
    CHECK(wait_for(pid) == 25);
}
