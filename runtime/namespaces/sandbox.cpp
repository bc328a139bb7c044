// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/sandbox.hpp"

#include "runtime/namespaces/children.hpp"
#include "runtime/namespaces/explain.hpp"
#include "runtime/namespaces/id_maps.hpp"
#include "runtime/namespaces/mounts.hpp"
#include "runtime/namespaces/privileges.hpp"
#include "runtime/namespaces/program.hpp"
#include "runtime/namespaces/sandbox_steps.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/error_pipe.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

Result<void> enter_directory(const Sandbox& sandbox) {
    int saved_errno = 0;
    bool is_there = chdir(sandbox.directory.c_str()) == 0;
    saved_errno = errno;
    for (const auto& other : sandbox.other_directories) {
        is_there = is_there || chdir(other.c_str()) == 0;
    }
    if (!is_there) {
        const Fault cause = system_error("", saved_errno).faults().front();
        return fail(ErrorCode::kInput,
                    problem(saved_errno == ENOENT ? "container-directory-missing"
                                                  : "container-directory-failed",
                            "cannot start in '" + printable(sandbox.directory.string()) + "'",
                            cause.id)
                        .about(sandbox.directory.native()),
                    cause.because,
                    "name a directory that the container has");
    }
    // A directory outside the root would show here (runc's CVE-2024-21626).
    std::array<char, 4096> where = {};
    if (getcwd(where.data(), where.size()) == nullptr || where.front() != '/') {
        return fail(ErrorCode::kEnvironment,
                    problem("container-directory-outside",
                            "cannot start in '" + printable(sandbox.directory.string()) + "'"),
                    "the directory is outside the container");
    }
    return {};
}

Result<void> take_final_ids(const Sandbox::Ids& ids, int proc) {
    if (unshare(CLONE_NEWUSER) != 0) {
        return fail(explain_user_namespace(
            problem("inner-namespace-failed", "cannot make the inner user namespace"), errno));
    }
    return map_one(proc, ids.uid, 0, {ids.gid, 0});
}

/// The mounts and the root.
Result<void> enter_root(const Sandbox& sandbox) {
    CYBELE_TRY(
        RootBuilder root,
        RootBuilder::start(sandbox).map_error(during("making the namespaces of the container")));
    for (const Mount& one : sandbox.mounts) {
        CYBELE_CHECK(root.add(one));
    }
    if (sandbox.is_root_read_only) {
        CYBELE_CHECK(add_mount_flags(root.root(), MS_RDONLY, false));
    }
    return pivot_into(root.root());
}

Result<void> finish_inside(Sandbox& sandbox, const std::function<Result<void>()>& entered) {
    if (sandbox.before_exec) {
        CYBELE_CHECK(sandbox.before_exec(sandbox));
    }
    CYBELE_CHECK(enter_directory(sandbox));
    if (entered) {
        CYBELE_CHECK(entered());
    }
    if (sandbox.umask) {
        umask(*sandbox.umask);
    }
    if (sandbox.forbids_new_privileges) {
        CYBELE_CHECK(forbid_new_privileges());
    }
    if (sandbox.kept_capabilities && !sandbox.drop_privileges) {
        return keep_capabilities(*sandbox.kept_capabilities, sandbox.passes_capabilities);
    }
    return sandbox.drop_privileges ? drop_all_privileges(sandbox.given_capabilities)
                                   : Result<void>();
}

ExecFailure enter_and_exec(const Sandbox& sandbox) {
    UniqueFd proc;
    if (sandbox.final_ids || sandbox.when_entered) {
        proc.reset(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    if (const auto entered = enter_root(sandbox); !entered) {
        return {entered.error(), 255};
    }
    return start_inside(sandbox, [&]() -> Result<void> {
        if (sandbox.final_ids) {
            CYBELE_CHECK(take_final_ids(*sandbox.final_ids, proc.get()));
        }
        return sandbox.when_entered ? sandbox.when_entered(proc.get()) : Result<void>();
    });
}

/// The payload's code travels back in front of the error.
void send_failure(int fd, const ExecFailure& failure) {
    const char code = static_cast<char>(failure.code);
    (void)!write(fd, &code, 1);
    send_error(fd, failure.error);
}

std::optional<ExecFailure> receive_failure(int fd) {
    unsigned char code = 0;
    ssize_t size = 0;
    do {
        size = read(fd, &code, 1);
    } while (size < 0 && errno == EINTR);
    if (size != 1) {
        return std::nullopt;
    }
    auto error = receive_error(fd);
    return ExecFailure{
        error ? std::move(*error)
              : Error(ErrorCode::kInternal, problem("sandbox-failed", "the sandbox failed")),
        code};
}

/// Process 1 of a new pid namespace: starts the program and collects what it leaves.
[[noreturn]] void be_first_process(const Sandbox& sandbox, UniqueFd report, std::size_t room) {
    if (sandbox.is_first_process) {
        send_failure(report.get(), enter_and_exec(sandbox));
        std::_Exit(255);
    }
    const pid_t program = fork();
    if (program == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        send_failure(report.get(), enter_and_exec(sandbox));
        _exit(255);
    }
    if (program < 0) {
        send_failure(report.get(), {system_error("cannot start a process", errno), 255});
        _exit(255);
    }
    report.reset();
    if (!sandbox.first_process.empty()) {
        name_this_process(sandbox.first_process, room);
    }
    // As wait_passing_signals(), but the program may be any of the children that end.
    std::_Exit(wait_as_first_process(program));
}

/// The program's own signals, as in Apptainer: this process ignores SIGPIPE, and a shell has each
/// command that it starts with `&` ignore SIGINT and SIGQUIT. SIGHUP stays as nohup set it.
void restore_signals() {
    for (const int number : {SIGPIPE, SIGINT, SIGQUIT}) {
        (void)std::signal(number, SIG_DFL); // NOLINT: followed by exec
    }
}

} // namespace

ExecFailure start_inside(Sandbox sandbox, const std::function<Result<void>()>& entered) {
    if (const auto finished = finish_inside(sandbox, entered); !finished) {
        return {finished.error(), 255};
    }
    if (sandbox.before_program) {
        if (const auto prepared = sandbox.before_program(); !prepared) {
            return {prepared.error(), 255};
        }
    }
    restore_signals();
    if (sandbox.otherwise) {
        std::array<char, 4096> where = {};
        if (getcwd(where.data(), where.size()) != nullptr) {
            sandbox.environment["PWD"] = where.data();
        }
        (void)exec_program(sandbox.argv, sandbox.environment, sandbox.names_by_path);
        sandbox.otherwise(sandbox);
    }
    return exec_program(sandbox.argv, sandbox.environment, sandbox.names_by_path);
}

ExecFailure exec_in_sandbox(const Sandbox& sandbox) {
    if (!sandbox.new_pid_namespace) {
        return enter_and_exec(sandbox);
    }
    auto report = make_pipe();
    if (!report) {
        return {report.error(), 255};
    }
    const std::size_t room = sandbox.first_process.empty() ? 0 : arguments_room();
    const pid_t own = getpid();
    if (unshare(CLONE_NEWPID) != 0) {
        return {system_error("cannot make a pid namespace", errno), 255};
    }
    const pid_t first = fork();
    if (first < 0) {
        return {system_error("cannot start a process", errno), 255};
    }
    if (first == 0) {
        die_with_parent(own);
        report->read.reset();
        be_first_process(sandbox, std::move(report->write), room);
    }
    report->write.reset();
    auto failure = receive_failure(report->read.get());
    if (sandbox.when_started && failure) {
        (void)kill(first, SIGKILL); // it stays without its program, too
    } else if (sandbox.when_started) {
        sandbox.when_started(first);
    }
    const int code = wait_passing_signals(first);
    if (failure) {
        return std::move(*failure);
    }
    _exit(code);
}

namespace {

/// Sends no error back when the sandbox could be made and its program started.
[[noreturn]] void start_in_own_mounts(const Sandbox& sandbox, const UniqueFd& report) {
    if (unshare(CLONE_NEWNS) != 0) {
        send_failure(report.get(), {system_error("cannot make a mount namespace", errno), 255});
        _exit(255);
    }
    (void)mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr);
    send_failure(report.get(), exec_in_sandbox(sandbox));
    _exit(255);
}

/// The child of run_sandboxed: keeps the program and what it leaves together.
[[noreturn]] void be_keeper(const Sandbox& sandbox, OutputFds to, UniqueFd report) {
    if (to.output >= 0) {
        (void)dup2(to.output, STDOUT_FILENO);
    }
    if (to.errors >= 0) {
        (void)dup2(to.errors, STDERR_FILENO);
    }
    if (sandbox.new_pid_namespace) {
        start_in_own_mounts(sandbox, report);
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t keeper = getpid();
    const pid_t program = fork();
    if (program == 0) {
        die_with_parent(keeper);
        // Not in the keeper: pivot_root moves every process of the namespace, and the keeper
        // needs the host's /proc.
        start_in_own_mounts(sandbox, report);
    }
    if (program < 0) {
        send_failure(report.get(), {system_error("cannot start a process", errno), 255});
        _exit(255);
    }
    report.reset();
    const int code = wait_passing_signals(program);
    end_remaining_children();
    _exit(code);
}

} // namespace

namespace {

// What the handler of a signal reads and writes.
volatile sig_atomic_t limited_child = 0; // NOLINT: a pid
volatile sig_atomic_t is_time_up = 0;    // NOLINT

void end_limited_child(int /*number*/) {
    is_time_up = 1;
    if (limited_child > 0) {
        kill(limited_child, SIGKILL);
    }
}

/// Kills a child, and with it all it started, when its time is up.
class TimeLimit {
public:
    TimeLimit(pid_t child, unsigned seconds) : seconds_(seconds) {
        if (seconds_ > 0) {
            is_time_up = 0;
            limited_child = child;
            struct sigaction action = {};
            action.sa_handler = end_limited_child;
            sigaction(SIGALRM, &action, &before_);
            alarm(seconds_);
        }
    }
    TimeLimit(const TimeLimit&) = delete;
    TimeLimit& operator=(const TimeLimit&) = delete;
    ~TimeLimit() {
        end();
    }
    /// From now on nothing is killed.
    void end() {
        if (seconds_ > 0 && limited_child != 0) {
            alarm(0);
            limited_child = 0;
            sigaction(SIGALRM, &before_, nullptr);
        }
    }
    [[nodiscard]] bool is_up() const {
        return seconds_ > 0 && is_time_up != 0;
    }

private:
    unsigned seconds_;
    struct sigaction before_ = {};
};

} // namespace

Result<int> run_sandboxed(const Sandbox& sandbox, OutputFds to) {
    CYBELE_TRY(Pipe report, make_pipe());
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
        return fail(system_error("cannot start a process", errno));
    }
    if (child == 0) {
        die_with_parent(parent);
        report.read.reset();
        be_keeper(sandbox, to, std::move(report.write));
    }
    report.write.reset();
    TimeLimit limit(child, sandbox.time_limit);
    auto failure = receive_failure(report.read.get());
    const int code = wait_passing_signals(child, [&limit] { limit.end(); });
    if (!failure) {
        return limit.is_up() ? kTimeIsUp : code;
    }
    // A program that is not there is a shell's code, told in the log; the rest is a refusal.
    if (failure->code == 126 || failure->code == 127) {
        const std::string line = "error: " + failure->error.message() + "\n";
        (void)!write(to.errors >= 0 ? to.errors : STDERR_FILENO, line.data(), line.size());
        return failure->code;
    }
    return fail(std::move(failure->error));
}

} // namespace cybele::namespaces
