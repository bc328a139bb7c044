// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/fuse_program.hpp"

#include "runtime/namespaces/descriptor_message.hpp"
#include "runtime/namespaces/stay_behind.hpp"
#include "support/file_size_signal.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr char kServed = 's';    // with the mount
constexpr char kNotServed = 'n'; // the program has ended, or took too long
constexpr int kMostTries = 3000; // of 5 ms
constexpr useconds_t kBetweenTries = 5000;

/// What the keeper needs; all of it is open in its process.
struct Keeping {
    const FuseProgram& program;
    int folder;
    const char* name;
    int gate;
};

[[noreturn]] void become_program(const Keeping& keeping) {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        (void)dup2(nothing, stream);
    }
    for (const int fd : keeping.program.kept) {
        (void)fcntl(fd, F_SETFD, 0);
    }
    std::vector<std::string> words = keeping.program.argv;
    words.emplace_back(keeping.name);
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    restore_file_size_signal();
    (void)execv(argv.front(), argv.data());
    _exit(127);
}

/// Waits until `name` is another file system than the working directory; false where the program
/// ends before.
bool wait_until_served(const Keeping& keeping, pid_t program) {
    struct stat before = {};
    struct stat now = {};
    if (stat(".", &before) != 0) {
        return false;
    }
    for (int i = 0; i < kMostTries; ++i) {
        if (stat(keeping.name, &now) == 0 && now.st_dev != before.st_dev) {
            return true;
        }
        if (waitpid(program, nullptr, WNOHANG) == program) {
            return false;
        }
        (void)usleep(kBetweenTries);
    }
    return false;
}

/// The mount goes to the caller and leaves this copy of the namespace: here it would keep alive the
/// program that serves it.
[[noreturn]] void keep(const Keeping& keeping) {
    std::vector<int> kept = keeping.program.kept;
    kept.push_back(keeping.folder);
    kept.push_back(keeping.gate);
    stay_behind("cybelectl-fuse", kept);
    constexpr unsigned long kPrivate = static_cast<unsigned long>(MS_REC) | MS_PRIVATE;
    // The working directory comes along into the copy, a descriptor does not.
    const bool is_apart = fchdir(keeping.folder) == 0 && unshare(CLONE_NEWNS) == 0 &&
                          mount("", "/", nullptr, kPrivate, nullptr) == 0;
    const pid_t program = is_apart ? fork() : -1;
    if (program == 0) {
        become_program(keeping);
    }
    if (program > 0 && wait_until_served(keeping, program)) {
        const int tree = open_tree(AT_FDCWD, keeping.name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (tree >= 0 && umount2(keeping.name, MNT_DETACH) == 0 &&
            send_message(keeping.gate, kServed, {&tree, 1})) {
            _exit(0);
        }
    }
    if (program > 0) {
        (void)kill(program, SIGKILL);
    }
    (void)send_message(keeping.gate, kNotServed, {});
    _exit(1);
}

} // namespace

Result<UniqueFd> mount_by_program(const FuseProgram& program, int folder, const char* name) {
    std::array<int, 2> ends = {};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return fail(system_error("cannot make a pair of sockets", errno));
    }
    const UniqueFd gate(ends[0]);
    UniqueFd other(ends[1]);
    const pid_t middle = fork();
    if (middle == 0) {
        const pid_t keeper = fork();
        if (keeper == 0) {
            keep({program, folder, name, other.get()});
        }
        _exit(keeper > 0 ? 0 : 1);
    }
    other.reset();
    DescriptorMessage message;
    const bool is_started = middle > 0 && wait_for(middle) == 0;
    if (!is_started || receive_message(gate.get(), message) != 1 || message.word != kServed) {
        const std::string shown = std::filesystem::path(program.argv.front()).filename().native();
        return fail(ErrorCode::kEnvironment,
                    problem("fuse-program-failed", "the program " + shown + " mounts nothing"),
                    "it has ended, or did not answer",
                    "try it by hand: " + shell_quote(program.argv.front()) + " --help");
    }
    const UniqueFd point(openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!point.valid() || move_mount(message.descriptors[0].get(),
                                     "",
                                     point.get(),
                                     "",
                                     MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0) {
        return fail(system_error("cannot mount what " + printable(program.argv.front()) + " serves",
                                 errno));
    }
    UniqueFd root(openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!root.valid() || fchdir(folder) != 0) {
        return fail(system_error("cannot open what was mounted", errno));
    }
    return root;
}

} // namespace cybele::namespaces
