// SPDX-License-Identifier: Apache-2.0
#include "submission/local/supervisor.hpp"

#include "submission/local/session.hpp"
#include "support/file.hpp"
#include "support/machine.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include <linux/sched.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::submission {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace{10};

/// What the submitter ignores, as under nohup, is not ignored by its job: a shell could not trap
/// it.
void reset_signals() {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) {
        (void)::sigaction(number, &standard, nullptr); // KILL and STOP refuse it
    }
}

[[noreturn]] void run_child(const Supervised& supervised,
                            char* const* argv,
                            char* const* environment,
                            const sigset_t& mask,
                            pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::setsid();
    if (!supervised.cpus.empty()) {
        (void)run_on(supervised.cpus); // a processor may have been switched off meanwhile
    }
    if (::getppid() != parent || ::chdir(supervised.directory.c_str()) != 0 ||
        (!supervised.attempt.empty() && !take_attempt(supervised.attempt))) {
        ::_exit(126);
    }
    ::dup2(supervised.output, STDOUT_FILENO);
    ::dup2(supervised.errors, STDERR_FILENO);
    reset_signals();
    ::pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
    ::execve(argv[0], argv, environment);
    ::_exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> list;
    for (const std::string& word : words) {
        list.push_back(const_cast<char*>(word.c_str())); // NOLINT: execve takes char*
    }
    list.push_back(nullptr);
    return list;
}

/// fork(2), into the control group where the kernel does that (Linux 5.7).
pid_t fork_into(int group) {
    if (group >= 0) {
        clone_args how{};
        how.flags = CLONE_INTO_CGROUP;
        how.exit_signal = SIGCHLD;
        how.cgroup = static_cast<__u64>(group);
        const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
        if (pid >= 0) {
            return pid;
        }
    }
    return ::fork();
}

/// The processes whose parent this process is, adopted ones too.
std::vector<pid_t> children() {
    std::vector<pid_t> found;
    const std::string self = std::to_string(::getpid());
    const auto text = read_file("/proc/" + self + "/task/" + self + "/children");
    if (!text) {
        return found;
    }
    const char* at = text->data();
    const char* const end = at + text->size();
    while (at < end) {
        pid_t pid = 0;
        const auto [next, error] = std::from_chars(at, end, pid);
        if (error != std::errc()) {
            break;
        }
        found.push_back(pid);
        at = next + 1;
    }
    return found;
}

/// Whether it follows another job, which the one that ended had submitted.
bool is_supervisor(pid_t pid) {
    const auto name = read_file("/proc/" + std::to_string(pid) + "/comm", 64);
    return name && *name == std::string(kSupervisorName) + "\n";
}

/// Ends what the job left behind: TERM, then KILL after two seconds, until nothing is left.
void end_leftovers() {
    const auto kill_after = Clock::now() + std::chrono::seconds(2);
    const auto give_up_after = kill_after + std::chrono::seconds(5);
    for (int signal = SIGTERM;;) {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        std::vector<pid_t> left = children();
        std::erase_if(left, is_supervisor);
        if (left.empty() || Clock::now() > give_up_after) {
            return;
        }
        if (Clock::now() > kill_after) {
            signal = SIGKILL;
        }
        for (const pid_t pid : left) {
            ::kill(pid, signal);
        }
        ::poll(nullptr, 0, 20);
    }
}

/// Follows one child: its end, the time limit, and signals to this process.
class Watch {
public:
    Watch(pid_t pid, int signals, std::optional<std::chrono::seconds> time)
        : pid_(pid), signals_(signals) {
        if (time) {
            deadline_ = Clock::now() + *time;
        }
    }

    SupervisedEnd wait() {
        for (;;) {
            pollfd waits{signals_, POLLIN, 0};
            ::poll(&waits, 1, timeout());
            take_signals();
            if (reap()) {
                return end_;
            }
            if (deadline_ && Clock::now() >= *deadline_) {
                stop(SupervisedEnd::Why::kTimeLimit);
            }
        }
    }

private:
    [[nodiscard]] int timeout() const {
        if (!deadline_) {
            return -1;
        }
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()).count();
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
    }

    void take_signals() {
        signalfd_siginfo information{};
        while (::read(signals_, &information, sizeof information) ==
               static_cast<ssize_t>(sizeof information)) {
            if (information.ssi_signo != SIGCHLD) {
                stop(SupervisedEnd::Why::kCancelled);
            }
        }
    }

    void stop(SupervisedEnd::Why why) {
        if (is_stopping_) {
            ::kill(pid_, SIGKILL);
            ::kill(-pid_, SIGKILL);
        } else {
            end_.why = why;
            is_stopping_ = true;
            if (::kill(-pid_, SIGTERM) != 0) {
                ::kill(pid_, SIGTERM); // it has no session of its own yet
            }
        }
        deadline_ = Clock::now() + kGrace;
    }

    bool reap() {
        bool is_over = false;
        int status = 0;
        for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
            if (pid == pid_) {
                end_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
                end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
                is_over = true;
            }
        }
        return is_over;
    }

    pid_t pid_;
    int signals_;
    std::optional<Clock::time_point> deadline_;
    bool is_stopping_ = false;
    SupervisedEnd end_;
};

} // namespace

Result<SupervisedEnd> supervise(const Supervised& supervised) {
    const std::vector<char*> argv = pointers(supervised.argv);
    const std::vector<char*> environment = pointers(supervised.variables);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t watched{};
    sigset_t before{};
    ::sigemptyset(&watched);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) {
        ::sigaddset(&watched, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &watched, &before);
    const UniqueFd signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    const pid_t parent = ::getpid();
    const pid_t pid = fork_into(supervised.group);
    if (pid < 0) {
        return fail(system_error("cannot start the job", errno));
    }
    if (pid == 0) {
        run_child(supervised, argv.data(), environment.data(), watched, parent);
    }
    const SupervisedEnd end = Watch(pid, signals.get(), supervised.time).wait();
    ::kill(-pid, SIGTERM);
    end_leftovers();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    return end;
}

} // namespace cybele::submission
