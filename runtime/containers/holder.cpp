// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/holder.hpp"

#include "runtime/namespaces/privileges.hpp"
#include "runtime/namespaces/stay_behind.hpp"
#include "support/process.hpp"
#include "support/start_time.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLinger{1000};
constexpr std::chrono::milliseconds kLook{200}; // at processes without a descriptor

class Holder {
public:
    Holder(const FirstMember& first_member,
           const namespaces::ContainerNamespaces& container,
           Watched founder,
           Watched launcher)
        : first_member_(first_member), container_(container), launcher_(std::move(launcher)) {
        members_.push_back(std::move(founder));
    }

    /// Until nobody is left.
    void hold() {
        for (;;) {
            std::erase_if(members_, [](const Watched& one) { return !one.is_alive(); });
            if (!members_.empty()) {
                deadline_ = Clock::now() + kLinger;
            } else if ((Clock::now() >= deadline_ || !launcher_.is_alive()) && leave()) {
                return;
            }
            wait();
        }
    }

    [[nodiscard]] std::vector<int> descriptors() const {
        return {first_member_.listener.get(),
                first_member_.folder.fd(),
                first_member_.folder.parent(),
                container_.mount.get(),
                container_.user.get(),
                members_.front().fd(),
                launcher_.fd()};
    }

private:
    /// For a request, the end of a member or of the launcher, or the next look.
    void wait() {
        std::vector<pollfd> all{{first_member_.listener.get(), POLLIN, 0}};
        bool must_look = launcher_.fd() < 0 && launcher_.pid() > 0 && members_.empty();
        if (members_.empty() && launcher_.fd() >= 0) {
            all.push_back({launcher_.fd(), POLLIN, 0});
        }
        for (const Watched& member : members_) {
            must_look = must_look || member.fd() < 0;
            all.push_back({member.fd(), POLLIN, 0}); // negative: ignored by poll()
        }
        int limit = must_look ? static_cast<int>(kLook.count()) : -1;
        if (members_.empty()) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
            const int most = std::max(static_cast<int>(left.count()), 1);
            limit = limit < 0 ? most : std::min(limit, most);
        }
        if (poll(all.data(), all.size(), limit) > 0 && (all.front().revents & POLLIN) != 0) {
            take_member();
        }
    }

    void take_member() {
        const UniqueFd connection(
            accept4(first_member_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection.valid()) {
            return;
        }
        if (const pid_t pid = admit(first_member_, container_, connection); pid > 0) {
            members_.push_back(Watched::process(pid));
        }
    }

    /// Under the lock nobody can begin to make the container anew; who has asked already stays.
    [[nodiscard]] bool leave() const {
        if (!first_member_.folder.lock()) {
            return true; // the folder is gone
        }
        pollfd waiting = {first_member_.listener.get(), POLLIN, 0};
        if (poll(&waiting, 1, 0) > 0) {
            first_member_.folder.unlock();
            return false;
        }
        (void)unlinkat(first_member_.folder.fd(), first_member_.key.name.c_str(), 0);
        first_member_.folder.remove_if_empty();
        return true;
    }

    const FirstMember& first_member_;
    const namespaces::ContainerNamespaces& container_;
    std::vector<Watched> members_;
    Watched launcher_;
    Clock::time_point deadline_ = Clock::now() + kLinger;
};

[[noreturn]] void be_holder(Holder& holder) {
    namespaces::stay_behind("cybelectl-hold", holder.descriptors());
    rlimit files = {};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max; // one descriptor a member
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)namespaces::drop_all_privileges();
    holder.hold();
    _exit(0);
}

} // namespace

Watched Watched::process(pid_t pid) {
    Watched watched;
    watched.pid_ = pid;
    watched.fd_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!watched.fd_.valid()) {
        watched.start_ = start_time(pid);
    } else {
        (void)fcntl(watched.fd_.get(), F_SETFD, FD_CLOEXEC);
    }
    return watched;
}

bool Watched::is_alive() const {
    if (pid_ <= 0) {
        return false;
    }
    if (fd_.valid()) {
        pollfd ended = {fd_.get(), POLLIN, 0};
        return poll(&ended, 1, 0) == 0;
    }
    const bool is_there = kill(pid_, 0) == 0 || errno == EPERM;
    return is_there && (start_.empty() || start_time(pid_) == start_);
}

Result<void> start_holder(const FirstMember& first_member,
                          const namespaces::ContainerNamespaces& container,
                          Watched launcher) {
    Holder holder(first_member, container, Watched::process(getpid()), std::move(launcher));
    const pid_t middle = fork();
    if (middle == 0) {
        // The holder is no child of the program, which may wait for all of its own.
        if (fork() == 0) {
            be_holder(holder);
        }
        _exit(0);
    }
    if (middle < 0 || wait_for(middle) != 0) {
        return fail(system_error("cannot start the process that holds the container", errno));
    }
    return {};
}

} // namespace cybele::runtime
