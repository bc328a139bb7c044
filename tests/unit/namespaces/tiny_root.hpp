// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"
#include "support/process.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/// A root file system of one static busybox, and trials in children as root or as an ordinary user.
namespace tiny {

constexpr uid_t kUser = 65534; // nobody, nogroup: there on every host, with no subordinate ids

/// Below a folder that every user may enter.
inline cybele::TempDirectory make_folder() {
    auto folder = cybele::TempDirectory::make("/var/tmp", "cybele-test-");
    REQUIRE(folder);
    std::filesystem::permissions(folder->path(), std::filesystem::perms(0755));
    return std::move(*folder);
}

inline void
write(const std::filesystem::path& path, const std::string& text, unsigned mode = 0644) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms(mode));
}

inline std::string read(const std::filesystem::path& path) {
    return cybele::read_file(path).value_or("");
}

inline void make_root(const std::filesystem::path& root) {
    for (const char* folder : {"bin", "etc", "dev", "proc", "sys", "tmp", "var/tmp", "root"}) {
        std::filesystem::create_directories(root / folder);
    }
    std::filesystem::permissions(root / "tmp", std::filesystem::perms(01777));
    std::filesystem::copy_file("/bin/busybox", root / "bin/busybox");
    for (const char* name :
         {"sh",    "cat",   "id",    "ls",     "echo", "true",     "kill", "sleep",
          "touch", "mkdir", "env",   "stat",   "grep", "readlink", "pwd",  "wc",
          "test",  "chown", "mount", "umount", "dd",   "ps",       "tr",   "head"}) {
        std::filesystem::create_symlink("busybox", root / "bin" / name);
    }
    write(root / "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
    write(root / "etc/group", "root:x:0:\n");
}

/// Runs `body` in a child and gives the shell's code of its end.
inline int in_child(const std::function<int()>& body) {
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(body());
    }
    return cybele::wait_for(pid);
}

inline void become_user() {
    // As after exec: the files under /proc/self belong to the process again.
    if (setgroups(0, nullptr) != 0 || setresgid(kUser, kUser, kUser) != 0 ||
        setresuid(kUser, kUser, kUser) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) {
        _exit(99);
    }
}

/// The same as the user nobody.
inline int as_user(const std::function<int()>& body) {
    return in_child([&] {
        become_user();
        return body();
    });
}

/// True if a process has `mark` in its command line.
inline bool is_running(const std::string& mark) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        if (cybele::read_file(entry.path() / "cmdline").value_or("").find(mark) !=
            std::string::npos) {
            return true;
        }
    }
    return false;
}

/// Waits up to 5 s until is_running() is as wanted.
inline bool becomes_running(const std::string& mark, bool is_wanted) {
    for (int i = 0; i < 250 && is_running(mark) != is_wanted; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return is_running(mark) == is_wanted;
}

/// Kills the processes that have `mark` in their command line.
inline void kill_marked(const std::string& mark) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string name = entry.path().filename();
        const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
        if (is_process && cybele::read_file(entry.path() / "cmdline").value_or("").find(mark) !=
                              std::string::npos) {
            kill(std::stoi(name), SIGKILL);
        }
    }
}

/// The descriptors that a program started now would inherit, as `ls -1` prints them.
inline std::string inherited_descriptors() {
    std::set<std::string> names; // ls sorts names, not numbers
    for (int fd = 0; fd < 1024; ++fd) {
        const int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0) {
            names.insert(std::to_string(fd));
        }
    }
    std::string lines;
    for (const std::string& name : names) {
        lines += name + '\n';
    }
    return lines;
}

} // namespace tiny
