// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/children.hpp"

#include "support/file.hpp"
#include "support/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr std::array kPassedSignals = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

// A pid; read by the handler only, which sees nothing but globals.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile sig_atomic_t signal_receiver = 0;

void pass_on(int number, siginfo_t* info, void* /*context*/) {
    if (info != nullptr && info->si_code <= 0 && signal_receiver > 0) {
        const int saved_errno = errno;
        kill(signal_receiver, number);
        errno = saved_errno;
    }
}

} // namespace

void die_with_parent(pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || (getppid() != parent && getppid() != 0)) {
        _exit(1);
    }
}

void name_this_process(const std::string& name, std::size_t room) {
    (void)prctl(PR_SET_NAME, name.c_str());
    if (room > name.size()) {
        std::memset(program_invocation_name, 0, room);
        name.copy(program_invocation_name, name.size());
    }
}

std::size_t arguments_room() {
    const auto line = read_file("/proc/self/cmdline");
    return line ? line->size() : 0;
}

int wait_passing_signals(pid_t child, const std::function<void()>& ended) {
    struct sigaction passing = {};
    passing.sa_sigaction = pass_on;
    passing.sa_flags = SA_SIGINFO;
    std::array<struct sigaction, kPassedSignals.size()> before = {};
    signal_receiver = child;
    for (std::size_t i = 0; i < kPassedSignals.size(); ++i) {
        sigaction(kPassedSignals.at(i), &passing, &before.at(i));
    }
    siginfo_t info = {};
    while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    signal_receiver = 0;
    if (ended) {
        ended();
    }
    const int code = wait_for(child);
    for (std::size_t i = 0; i < kPassedSignals.size(); ++i) {
        sigaction(kPassedSignals.at(i), &before.at(i), nullptr);
    }
    return code;
}

void end_remaining_children() {
    const std::string list =
        "/proc/self/task/" + std::to_string(getpid()) + "/children"; // this thread's
    for (;;) {
        std::ifstream children(list);
        std::vector<pid_t> left;
        for (pid_t pid = 0; children >> pid;) {
            left.push_back(pid);
        }
        for (const pid_t pid : left) {
            kill(pid, SIGKILL);
        }
        if (left.empty()) {
            break;
        }
        for (const pid_t pid : left) {
            (void)wait_for(pid);
        }
    }
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
}

Result<Pipe> make_pipe() {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail(system_error("cannot make a pipe", errno));
    }
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

} // namespace cybele::namespaces
