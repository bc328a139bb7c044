// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/instance_process.hpp"

#include "runtime/namespaces/children.hpp"
#include "runtime/namespaces/descriptors.hpp"
#include "runtime/namespaces/join.hpp"
#include "runtime/namespaces/sandbox_steps.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/error_pipe.hpp"
#include "support/file.hpp"
#include "support/file_size_signal.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr int kSignalBase = 128; // of a shell's exit codes

void collect() {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
}

[[noreturn]] void be_first_of_instance(const sigset_t& all) {
    keep_only({});
    (void)std::signal(SIGPIPE, SIG_DFL); // NOLINT: as in Apptainer; nothing is written here
    restore_file_size_signal();
    for (int ended_by = 0;;) {
        int number = 0;
        if (sigwait(&all, &number) != 0) {
            continue;
        }
        if (number == SIGCHLD) {
            collect(); // the container stays when its program has ended, whatever its code
            if (ended_by != 0 && kill(-1, 0) != 0) {
                _exit(kSignalBase + ended_by);
            }
            continue;
        }
        ended_by = number;
        if (kill(-1, number) != 0) { // none is left
            _exit(kSignalBase + number);
        }
    }
}

struct Kind {
    const char* name;
    int flag;
};
constexpr Kind kOthers[] = {
    {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS}, {"net", CLONE_NEWNET}, {"pid", CLONE_NEWPID}};

tl::unexpected<Error> not_joined(int number) {
    return fail(system_error("cannot join the instance", number));
}

/// Whether `fd` is this process's namespace of that kind already.
bool is_own_namespace(const UniqueFd& fd, const char* kind) {
    const UniqueFd own(open((std::string("/proc/self/ns/") + kind).c_str(), O_RDONLY | O_CLOEXEC));
    return is_same_file(own.get(), fd.get());
}

/// Enters all namespaces of a process, the outer user namespace first: only there is the right to
/// enter the mounts had.
Result<void> enter_namespaces_of(const std::string& folder) {
    const auto open_one = [&](const char* name) {
        return UniqueFd(open((folder + name).c_str(), O_RDONLY | O_CLOEXEC));
    };
    const UniqueFd user = open_one("user");
    const UniqueFd mount = open_one("mnt");
    if (!user.valid() || !mount.valid()) {
        return not_joined(errno);
    }
    std::array<UniqueFd, std::size(kOthers)> others;
    for (std::size_t i = 0; i < others.size(); ++i) {
        others.at(i) = open_one(kOthers[i].name);
        if (!others.at(i).valid()) {
            return not_joined(errno);
        }
        if (is_own_namespace(others.at(i), kOthers[i].name)) {
            others.at(i).reset();
        }
    }
    const UniqueFd owner(ioctl(mount.get(), NS_GET_USERNS));
    uid_t uid = 0;
    if (!owner.valid() || ioctl(owner.get(), NS_GET_OWNER_UID, &uid) != 0 || uid != geteuid()) {
        return fail(ErrorCode::kEnvironment,
                    problem("instance-not-own", "cannot join the instance"),
                    "its namespaces were not made by this user on this host");
    }
    if (!is_own_namespace(owner, "user") && setns(owner.get(), CLONE_NEWUSER) != 0) {
        return not_joined(errno);
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (others.at(i).valid() && setns(others.at(i).get(), kOthers[i].flag) != 0) {
            return not_joined(errno);
        }
    }
    const bool is_inner = !is_same_file(owner.get(), user.get());
    if (setns(mount.get(), CLONE_NEWNS) != 0 ||
        (is_inner && setns(user.get(), CLONE_NEWUSER) != 0)) {
        return not_joined(errno);
    }
    return {};
}

} // namespace

Result<void> stay_as_first_process(const std::string& name) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTTIN, SIGTTOU}) {
        sigdelset(&all, number);
    }
    sigprocmask(SIG_SETMASK, &all, &before); // NOLINT(concurrency-mt-unsafe): one thread
    (void)std::signal(SIGCHLD, SIG_DFL);     // NOLINT: what ends is waited for
    const pid_t program = fork();
    if (program < 0) {
        return fail(system_error("cannot start a process", errno));
    }
    if (program > 0) {
        if (name.empty()) {
            (void)prctl(PR_SET_NAME, "cybelectl-inst");
        } else {
            name_this_process(name, arguments_room());
        }
        (void)prctl(PR_SET_DUMPABLE, 1); // else its namespaces could not be opened
        be_first_of_instance(all);
    }
    sigprocmask(SIG_SETMASK, &before, nullptr); // NOLINT(concurrency-mt-unsafe): one thread
    return {};
}

ExecFailure exec_in_instance(const Sandbox& sandbox, pid_t pid) {
    auto report = make_pipe();
    if (!report) {
        return {std::move(report).error(), 255};
    }
    if (auto entered = enter_namespaces_of("/proc/" + std::to_string(pid) + "/ns/"); !entered) {
        return {std::move(entered).error(), 255};
    }
    const pid_t program = fork(); // only a child is in the pid namespace
    if (program < 0) {
        return {system_error("cannot start a process", errno), 255};
    }
    if (program == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        const ExecFailure failure = start_inside(sandbox, {});
        send_error(report->write.get(), failure.error);
        _exit(failure.code);
    }
    report->write.reset();
    auto failure = receive_error(report->read.get());
    const int code = wait_passing_signals(program);
    if (failure) {
        return {std::move(*failure), code};
    }
    _exit(code);
}

} // namespace cybele::namespaces
