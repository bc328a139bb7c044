// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/accounts.hpp"
#include "runtime/namespaces/privileges.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/process.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

std::string sentence(const Error& error) {
    const Fault& fault = error.faults().front();
    std::string text = fault.because.empty() ? fault.message : fault.because;
    return fault.help.empty() ? text : text + "; " + fault.help;
}

/// Runs a trial in a child; "" when it worked, else why not.
std::string try_in_child(IdMap map, const std::function<int()>& body) {
    const auto code = run_in_namespaces(map, body);
    if (!code) {
        return sentence(code.error());
    }
    return *code == 0 ? "" : sentence(system_error("", *code));
}

int try_mount() {
    return mount("tmpfs", "/", "tmpfs", 0, "size=4k") == 0 ? 0 : errno;
}

/// Opening is not enough: kernels before 4.18 forbid the mount itself.
int try_fuse() {
    const UniqueFd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!device.valid()) {
        return errno;
    }
    const std::string options = "fd=" + std::to_string(device.get()) +
                                ",rootmode=40000,user_id=" + std::to_string(geteuid()) +
                                ",group_id=" + std::to_string(getegid());
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_RDONLY;
    return mount("cybelectl", "/", "fuse", flags, options.c_str()) == 0 ? 0 : errno;
}

std::string fuse_reason(std::string reason) {
    if (reason.empty()) {
        return reason;
    }
    if (access("/dev/fuse", F_OK) != 0) {
        return "there is no /dev/fuse; as root: modprobe fuse";
    }
    if (access("/dev/fuse", R_OK | W_OK) != 0) {
        return "/dev/fuse may not be opened by this user; as root: chmod 666 /dev/fuse";
    }
    return "FUSE cannot be mounted in a user namespace: " + reason;
}

std::string subordinate_reason() {
    if (is_privileged_root()) {
        return "";
    }
    for (const char* program : {"newuidmap", "newgidmap"}) {
        if (!find_program(program)) {
            return std::string(program) +
                   " is not installed; install the package uidmap (Debian) or shadow-utils";
        }
    }
    return try_in_child(IdMap::kSubordinate, try_mount);
}

std::string loop_reason(bool is_root) {
    if (!is_root) {
        return "only root may attach loop devices";
    }
    const UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    return control.valid()
               ? ""
               : sentence(system_error("", errno)) + " (/dev/loop-control); as root: modprobe loop";
}

} // namespace

Abilities probe_abilities() {
    Abilities abilities;
    abilities.is_root = is_privileged_root();
    abilities.user_namespaces_because = try_in_child(IdMap::kIdentity, try_mount);
    abilities.user_namespaces = abilities.user_namespaces_because.empty();
    abilities.subordinate_ids_because = subordinate_reason();
    abilities.subordinate_ids = abilities.subordinate_ids_because.empty();
    abilities.fuse_because =
        fuse_reason(try_in_child(abilities.is_root ? IdMap::kNone : IdMap::kOwnRoot, try_fuse));
    abilities.fuse = abilities.fuse_because.empty();
    abilities.loop_because = loop_reason(abilities.is_root);
    abilities.loop = abilities.loop_because.empty();
    return abilities;
}

} // namespace cybele::namespaces
