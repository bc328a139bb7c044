// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/explain.hpp"

#include "support/file.hpp"

#include <cerrno>
#include <optional>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

/// A switch of the kernel that forbids user namespaces when it has this value.
struct Switch {
    const char* file;
    const char* forbids;
    const char* because;
    const char* help;
};
constexpr Switch kSwitches[] = {
    {"/proc/sys/user/max_user_namespaces",
     "0",
     "user.max_user_namespaces is 0",
     "as root: sysctl -w user.max_user_namespaces=15000"},
    {"/proc/sys/kernel/unprivileged_userns_clone",
     "0",
     "kernel.unprivileged_userns_clone is 0",
     "as root: sysctl -w kernel.unprivileged_userns_clone=1"},
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
     "1",
     "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)",
     "as root: install an AppArmor profile with the rule 'userns,' for this program, or: "
     "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
};

std::string value_of(const char* file) {
    std::string text = read_file(file).value_or("");
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.pop_back();
    }
    return text;
}

/// True if the root directory is not the root of the mount namespace, which forbids user
/// namespaces. Seen from the mount table: it names no mount at "/".
bool is_in_chroot() {
    const std::string table = read_file("/proc/self/mountinfo").value_or("");
    return !table.empty() && table.find(" / / ") == std::string::npos &&
           table.find(" / rw") == std::string::npos && table.find(" / ro") == std::string::npos;
}

} // namespace

Error explain_user_namespace(Problem problem, int saved_errno) {
    const std::string said = std::generic_category().message(saved_errno);
    if (access("/proc/self/ns", F_OK) != 0) {
        return {ErrorCode::kEnvironment,
                std::move(problem),
                "/proc is not mounted here",
                "mount -t proc proc /proc"};
    }
    for (const Switch& one : kSwitches) {
        if (value_of(one.file) == one.forbids) {
            return {ErrorCode::kEnvironment, std::move(problem), one.because, one.help};
        }
    }
    switch (saved_errno) {
    case ENOSPC:
        return {ErrorCode::kEnvironment,
                std::move(problem),
                "the limit user.max_user_namespaces (" +
                    value_of("/proc/sys/user/max_user_namespaces") + ") is reached",
                "as root: raise it with sysctl -w user.max_user_namespaces=NUMBER"};
    case EUSERS:
        return {ErrorCode::kEnvironment,
                std::move(problem),
                "user namespaces are nested too deep, or the limit of an outer one is reached",
                "start it outside the container"};
    case EPERM:
        if (is_in_chroot()) {
            return {ErrorCode::kEnvironment,
                    std::move(problem),
                    "this process is in a chroot, where the kernel forbids user namespaces",
                    "enter the root with pivot_root (e.g. by a container program) instead"};
        }
        return {ErrorCode::kEnvironment,
                std::move(problem),
                said + "; a filter for system calls (as in Docker) or a security module forbids it",
                "in Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined"};
    case ENOSYS:
    case EINVAL:
        return {ErrorCode::kEnvironment,
                std::move(problem),
                "this kernel has no user namespaces (" + said + ")",
                "use a kernel with CONFIG_USER_NS"};
    default:
        return {ErrorCode::kEnvironment,
                std::move(problem),
                said,
                "cybelectl doctor shows what this host allows"};
    }
}

} // namespace cybele::namespaces
