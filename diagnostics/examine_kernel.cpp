// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/examine.hpp"
#include "launchers/mpi/version.hpp"
#include "runtime/containers/runtime.hpp"
#include "runtime/namespaces/sandbox.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace cybele::diagnostics {

namespace {

/// The oldest kernel that this program is made for, that of RHEL 8.
constexpr const char* kOldestKernel = "4.18";

Finding kernel() {
    utsname names{};
    if (::uname(&names) != 0) {
        return lacks("kernel", "unknown", "", "");
    }
    const std::string what =
        fmt::format("{} {} on {}", names.sysname, names.release, names.machine);
    const auto version = compatibility::parse_version(names.release);
    if (version.is_known && version < compatibility::parse_version(kOldestKernel)) {
        return lacks("kernel",
                     what,
                     "it is older than 4.18: an ordinary user's images are unpacked, and builds "
                     "were never tried on it",
                     "use a machine with a newer kernel");
    }
    return works("kernel", what);
}

Finding user_namespaces(const namespaces::Abilities& abilities) {
    constexpr const char* kSubject = "user namespaces";
    if (abilities.user_namespaces) {
        return works(kSubject, "work");
    }
    if (abilities.is_root) {
        return lacks(kSubject,
                     abilities.user_namespaces_because,
                     "ordinary users can start no container here",
                     "`cybelectl explain no-user-namespaces` shows each switch of the kernel");
    }
    return fails(kSubject,
                 abilities.user_namespaces_because,
                 "an ordinary user can start no container",
                 "ask the administrator; `cybelectl explain no-user-namespaces` has the text");
}

Finding subordinate_ids(const namespaces::Abilities& abilities) {
    constexpr const char* kSubject = "subordinate ids";
    if (abilities.is_root) {
        return works(kSubject, "not needed: this is root");
    }
    if (abilities.subordinate_ids) {
        return works(kSubject, "work");
    }
    return fails(kSubject,
                 abilities.subordinate_ids_because,
                 "`build` with packages cannot work",
                 "ask for a line USER:100000:65536 in /etc/subuid and /etc/subgid, and the package "
                 "uidmap");
}

Finding fuse(const namespaces::Abilities& abilities) {
    return abilities.fuse ? works("FUSE", "works")
                          : lacks("FUSE",
                                  abilities.fuse_because,
                                  "images are unpacked instead of mounted by users",
                                  "the first start of an image takes longer; nothing else");
}

Finding loop(const namespaces::Abilities& abilities) {
    constexpr const char* kSubject = "loop devices";
    if (abilities.loop) {
        return works(kSubject, "work");
    }
    if (!abilities.is_root) {
        return works(kSubject, "not needed: only root's images are mounted by them");
    }
    return lacks(kSubject,
                 abilities.loop_because,
                 "root mounts images by FUSE or unpacks them",
                 "as root: modprobe loop");
}

Finding images() {
    const runtime::MountChoice choice = runtime::choose_mount();
    if (choice.way.empty()) {
        return fails("images", choice.because, "no image can be started", "fix the problems above");
    }
    return works("images", choice.way + ": " + choice.because);
}

} // namespace

void examine_kernel(const DoctorInput& /*input*/, Findings& findings) {
    const namespaces::Abilities abilities = namespaces::probe_abilities();
    findings.push_back(kernel());
    findings.push_back(
        works("user", abilities.is_root ? "root" : fmt::format("user {}", ::getuid())));
    findings.push_back(user_namespaces(abilities));
    findings.push_back(subordinate_ids(abilities));
    findings.push_back(fuse(abilities));
    findings.push_back(loop(abilities));
    findings.push_back(images());
}

} // namespace cybele::diagnostics
