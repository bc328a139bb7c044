// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/join.hpp"

#include "runtime/namespaces/sandbox_steps.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/root_walk.hpp"

#include <cerrno>

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

UniqueFd ask(int fd, unsigned long question) {
    return UniqueFd(ioctl(fd, question));
}

/// The user namespace that owns the mounts, when the checks of enter_container() hold.
Result<UniqueFd> owner_of(const ContainerNamespaces& container) {
    UniqueFd owner = ask(container.mount.get(), NS_GET_USERNS);
    if (!owner.valid()) {
        return fail(system_error("cannot join the container", errno));
    }
    const UniqueFd above = ask(owner.get(), NS_GET_PARENT);
    const UniqueFd around = ask(container.user.get(), NS_GET_PARENT);
    struct stat status = {};
    uid_t uid = 0;
    if (!above.valid() || !around.valid() || fstat(above.get(), &status) != 0 ||
        "user:[" + std::to_string(status.st_ino) + ']' != own_namespace("user") ||
        !is_same_file(around.get(), owner.get()) ||
        ioctl(owner.get(), NS_GET_OWNER_UID, &uid) != 0 || uid != geteuid()) {
        return fail(ErrorCode::kEnvironment,
                    problem("container-not-joined", "cannot join the container"),
                    "its namespaces were not made by this user on this host");
    }
    return owner;
}

} // namespace

std::string own_namespace(const char* kind) {
    const std::string path = std::string("/proc/self/ns/") + kind;
    return link_target(AT_FDCWD, path.c_str()).value_or(std::string());
}

Result<ContainerNamespaces> own_namespaces(int proc, bool has_user) {
    ContainerNamespaces own;
    own.mount.reset(openat(proc, "self/ns/mnt", O_RDONLY | O_CLOEXEC));
    if (has_user) {
        own.user.reset(openat(proc, "self/ns/user", O_RDONLY | O_CLOEXEC));
    }
    if (!own.mount.valid() || (has_user && !own.user.valid())) {
        return fail(system_error("cannot open this process's namespaces", errno));
    }
    return own;
}

Result<void> enter_container(const ContainerNamespaces& container) {
    if (!container.user.valid()) {
        return setns(container.mount.get(), CLONE_NEWNS) == 0
                   ? Result<void>()
                   : fail(system_error("cannot enter the container's mounts", errno));
    }
    CYBELE_TRY(const UniqueFd owner, owner_of(container));
    // The right to enter the mounts is had in their owner only.
    if (setns(owner.get(), CLONE_NEWUSER) != 0 || setns(container.mount.get(), CLONE_NEWNS) != 0 ||
        setns(container.user.get(), CLONE_NEWUSER) != 0) {
        return fail(system_error("cannot enter the container's namespaces", errno));
    }
    return {};
}

ExecFailure exec_in_container(Sandbox sandbox, const ContainerNamespaces& container) {
    if (auto entered = enter_container(container); !entered) {
        return {std::move(entered).error(), 255};
    }
    return start_inside(std::move(sandbox), {});
}

} // namespace cybele::namespaces
