// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/id_maps.hpp"

#include "runtime/namespaces/accounts.hpp"
#include "runtime/namespaces/children.hpp"
#include "runtime/namespaces/explain.hpp"
#include "runtime/namespaces/privileges.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/error_pipe.hpp"
#include "support/process.hpp"
#include "support/root_walk.hpp"

#include <cerrno>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr unsigned long kMappedIds = 65536; // 0 … 65535, what Debian's packages use

Result<void> write_map(int proc, const std::string& name, const std::string& text) {
    const UniqueFd fd(openat(proc, name.c_str(), O_WRONLY | O_CLOEXEC));
    // One write: the kernel takes a map whole or not at all.
    if (!fd.valid() ||
        write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        return fail(explain_user_namespace(
            problem("id-map-failed", "cannot write the map of ids (" + name + ")"), errno));
    }
    return {};
}

/// This process's own ids, each to itself: "inside inside count" for each line of its map.
std::string own_ranges(int proc, const char* name) {
    constexpr std::size_t kMostBytes = std::size_t{16} << 10U; // the kernel: 340 lines
    const UniqueFd fd(openat(proc, name, O_RDONLY | O_CLOEXEC));
    std::string map(kMostBytes, '\0');
    const ssize_t size = fd.valid() ? read(fd.get(), map.data(), map.size()) : 0;
    map.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    std::istringstream lines(map);
    std::string text;
    for (unsigned long inside = 0, outside = 0, count = 0; lines >> inside >> outside >> count;) {
        text += std::to_string(inside) + ' ' + std::to_string(inside) + ' ' +
                std::to_string(count) + '\n';
    }
    return text;
}

/// `pid` as the descriptor's /proc names it.
Result<void> map_same_ids(int proc, const std::string& pid) {
    CYBELE_CHECK(write_map(proc, pid + "/uid_map", own_ranges(proc, "self/uid_map")));
    return write_map(proc, pid + "/gid_map", own_ranges(proc, "self/gid_map"));
}

UniqueFd open_proc() {
    return UniqueFd(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Result<void>
call_map_program(const char* program, pid_t pid, unsigned own, SubordinateRange range) {
    Command command;
    command.argv = {program,
                    std::to_string(pid),
                    "0",
                    std::to_string(own),
                    "1",
                    "1",
                    std::to_string(range.start),
                    std::to_string(kMappedIds - 1)};
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (outcome.ok()) {
        return {};
    }
    std::string because = outcome.errors;
    while (!because.empty() && because.back() == '\n') {
        because.pop_back();
    }
    return fail(ErrorCode::kEnvironment,
                problem("subordinate-ids-not-mapped",
                        std::string(program) + " could not map the subordinate ids"),
                because,
                "check that " + std::string(program) +
                    " is setuid root (or has file capabilities) and not on a nosuid mount");
}

/// What the helper does from outside the new user namespace.
Result<void> map_from_outside(pid_t pid, uid_t uid, gid_t gid) {
    if (is_privileged_root()) {
        return map_same_ids(open_proc().get(), std::to_string(pid));
    }
    CYBELE_TRY(const SubordinateRange uids, subordinate_range("/etc/subuid", uid, kMappedIds));
    CYBELE_TRY(const SubordinateRange gids, subordinate_range("/etc/subgid", uid, kMappedIds));
    CYBELE_CHECK(call_map_program("newuidmap", pid, uid, uids));
    return call_map_program("newgidmap", pid, gid, gids);
}

/// A process that stays outside, waits for our word, and writes our maps.
class OutsideHelper {
public:
    /// `map` is given this process's id.
    [[nodiscard]] static Result<OutsideHelper>
    start(const std::function<Result<void>(pid_t)>& map) {
        CYBELE_TRY(Pipe go, make_pipe());
        CYBELE_TRY(Pipe answer, make_pipe());
        const pid_t parent = getpid();
        const pid_t pid = fork();
        if (pid < 0) {
            return fail(system_error("cannot start a process", errno));
        }
        if (pid == 0) {
            die_with_parent(parent);
            go.write.reset();
            answer.read.reset();
            char word = 0;
            if (read(go.read.get(), &word, 1) == 1) {
                if (const auto mapped = map(parent); !mapped) {
                    send_error(answer.write.get(), mapped.error());
                }
            }
            _exit(0);
        }
        return OutsideHelper(pid, std::move(go.write), std::move(answer.read));
    }
    OutsideHelper(OutsideHelper&&) = default;
    OutsideHelper& operator=(OutsideHelper&&) = delete;
    ~OutsideHelper() {
        if (go_.valid()) {
            go_.reset();
            (void)wait_for(pid_);
        }
    }

    [[nodiscard]] Result<void> map() {
        const bool told = write(go_.get(), "m", 1) == 1;
        auto error = receive_error(answer_.get());
        go_.reset();
        (void)wait_for(pid_);
        if (error) {
            return fail(std::move(*error));
        }
        return told ? Result<void>()
                    : fail(ErrorCode::kInternal,
                           problem("id-map-helper-ended", "the helper for id maps ended"));
    }

private:
    OutsideHelper(pid_t pid, UniqueFd go, UniqueFd answer)
        : pid_(pid), go_(std::move(go)), answer_(std::move(answer)) {}
    pid_t pid_;
    UniqueFd go_;
    UniqueFd answer_;
};

} // namespace

Result<void> map_one(int proc, unsigned inside_uid, unsigned uid, const SingleMap& rest) {
    // Denying setgroups() is the kernel's condition for an ordinary user's group map.
    const UniqueFd groups(openat(proc, "self/setgroups", O_WRONLY | O_CLOEXEC));
    if (groups.valid()) {
        (void)!write(groups.get(), "deny", 4);
    }
    const auto line = [](unsigned inside, unsigned outside) {
        return std::to_string(inside) + ' ' + std::to_string(outside) + " 1\n";
    };
    CYBELE_CHECK(write_map(proc, "self/uid_map", line(inside_uid, uid)));
    return write_map(proc, "self/gid_map", line(rest.inside_gid, rest.gid));
}

Result<bool> enter_same_ids(int proc) {
    const auto own = link_target(proc, "self");
    if (!own) {
        return fail(system_error("cannot read the number of this process", errno));
    }
    // A change of ids has taken the files below /proc/self from this process.
    (void)prctl(PR_SET_DUMPABLE, 1);
    CYBELE_TRY(OutsideHelper helper,
               OutsideHelper::start([&](pid_t) { return map_same_ids(proc, *own); }));
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) != 0) {
        return false;
    }
    CYBELE_CHECK(helper.map());
    return true;
}

Result<void> enter_namespaces(IdMap map) {
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    std::optional<OutsideHelper> helper;
    if (map == IdMap::kSubordinate) {
        CYBELE_TRY(OutsideHelper started, OutsideHelper::start([uid, gid](pid_t pid) {
                       return map_from_outside(pid, uid, gid);
                   }));
        helper.emplace(std::move(started));
    }
    UniqueFd proc;
    if (map != IdMap::kNone) {
        proc = open_proc();
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
            return fail(explain_user_namespace(
                problem("user-namespace-failed", "cannot make a user namespace"), errno));
        }
    } else if (unshare(CLONE_NEWNS) != 0) {
        return fail(system_error("cannot make a mount namespace", errno));
    }
    if (map == IdMap::kIdentity) {
        CYBELE_CHECK(map_one(proc.get(), uid, uid, {gid, gid}));
    } else if (map == IdMap::kOwnRoot) {
        CYBELE_CHECK(map_one(proc.get(), 0, uid, {0, gid}));
    } else if (helper) {
        CYBELE_CHECK(helper->map());
        if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0) {
            return fail(system_error("cannot become the root of the user namespace", errno));
        }
    }
    // Slave, not private: what the host mounts later (automounter) is still seen.
    if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 && errno != EINVAL) {
        return fail(explain_user_namespace(
            problem("mount-namespace-failed", "cannot separate the mounts from the host's"),
            errno));
    }
    return {};
}

Result<int> run_in_namespaces(IdMap map, const std::function<int()>& body) {
    CYBELE_TRY(Pipe report, make_pipe());
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
        return fail(system_error("cannot start a process", errno));
    }
    if (child == 0) {
        die_with_parent(parent);
        report.read.reset();
        if (const auto entered = enter_namespaces(map); !entered) {
            send_error(report.write.get(), entered.error());
            _exit(1);
        }
        die_with_parent(parent); // again: a change of ids forgets it
        report.write.reset();
        _exit(body());
    }
    report.write.reset();
    auto error = receive_error(report.read.get());
    const int code = wait_passing_signals(child);
    if (error) {
        return fail(std::move(*error));
    }
    return code;
}

} // namespace cybele::namespaces
