// SPDX-License-Identifier: Apache-2.0
#include "submission/local/starters.hpp"

#include "submission/local/job_group.hpp"
#include "submission/records/process_identity.hpp"
#include "support/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <sys/socket.h>
#include <unistd.h>

namespace cybele::submission {
namespace {

/// The signals that end a supervisor's job; they wait from before its birth.
void hold_signals(int how) {
    sigset_t watched{};
    ::sigemptyset(&watched);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        ::sigaddset(&watched, number);
    }
    ::pthread_sigmask(how, &watched, nullptr);
}

} // namespace

Result<Starters> Starters::fork(std::size_t count, const std::string& home) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return fail(system_error("cannot make a socket", errno));
    }
    Starters starters;
    starters.line_.reset(ends[0]);
    UniqueFd theirs(ends[1]);
    const pid_t launcher = ::fork();
    if (launcher < 0) {
        return fail(system_error("cannot start the job's supervisor", errno));
    }
    if (launcher > 0) {
        theirs.reset();
        CYBELE_CHECK(starters.learn_ids(count, launcher));
        return starters;
    }
    hold_signals(SIG_BLOCK);
    leave_group(home);
    starters.line_ = std::move(theirs);
    for (std::size_t at = 0; at < count; ++at) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::setsid();
            starters.child_ = at;
            return starters;
        }
        if (::send(starters.line_.get(), &pid, sizeof pid, MSG_NOSIGNAL) !=
            static_cast<ssize_t>(sizeof pid)) {
            break;
        }
    }
    ::_exit(0);
}

Result<void> Starters::learn_ids(std::size_t count, pid_t launcher) {
    for (std::size_t at = 0; at < count; ++at) {
        pid_t pid = -1;
        const ssize_t got = ::recv(line_.get(), &pid, sizeof pid, MSG_WAITALL);
        if (got != static_cast<ssize_t>(sizeof pid) || pid < 0) {
            (void)wait_for(launcher);
            return fail(ErrorCode::kEnvironment,
                        problem("supervisor-not-started", "cannot start the job's supervisor"),
                        "the system gives no more processes",
                        "look at `ulimit -u` and the memory that is free");
        }
        ids_.push_back(id_of_process(pid));
    }
    (void)wait_for(launcher);
    return {};
}

void Starters::go() const {
    const std::vector<char> marks(ids_.size(), '1');
    (void)::send(line_.get(), marks.data(), marks.size(), MSG_NOSIGNAL);
}

bool Starters::may_begin() const {
    char mark = 0;
    ssize_t got = -1;
    do {
        got = ::recv(line_.get(), &mark, 1, 0);
    } while (got < 0 && errno == EINTR);
    return got == 1;
}

} // namespace cybele::submission
