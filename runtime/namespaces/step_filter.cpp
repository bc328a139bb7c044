// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/step_filter.hpp"

#include "runtime/namespaces/system_call_filter.hpp"

#include <array>
#include <cerrno>
#include <cstddef>

#include <linux/audit.h>
#include <sched.h>
#include <sys/syscall.h>

namespace cybele::namespaces {
namespace {

constexpr std::uint32_t kStepRefused = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kStepUnknown = SECCOMP_RET_ERRNO | ENOSYS;

// Numbers since Linux 5.1 are the same for all architectures.
constexpr RefusedCall kStepCalls[] = {
    {"mount", SYS_mount, 21},
    {"umount2", SYS_umount2, 52},
    {"pivot_root", SYS_pivot_root, 217},
    {"open_tree", 428, 428},
    {"move_mount", 429, 429},
    {"fsopen", 430, 430},
    {"fsconfig", 431, 431},
    {"fsmount", 432, 432},
    {"fspick", 433, 433},
    {"mount_setattr", 442, 442},
    {"open_tree_attr", 467, 467},
    {"setns", SYS_setns, 346},
    {"add_key", SYS_add_key, 286},
    {"request_key", SYS_request_key, 287},
    {"keyctl", SYS_keyctl, 288},
    {"bpf", SYS_bpf, 357},
    {"perf_event_open", SYS_perf_event_open, 336},
    {"init_module", SYS_init_module, 128},
    {"finit_module", SYS_finit_module, 350},
    {"delete_module", SYS_delete_module, 129},
    {"kexec_load", SYS_kexec_load, 283},
#ifdef SYS_kexec_file_load
    {"kexec_file_load", SYS_kexec_file_load, 0},
#endif
    {"reboot", SYS_reboot, 88},
    {"swapon", SYS_swapon, 87},
    {"swapoff", SYS_swapoff, 115},
    {"acct", SYS_acct, 51},
    {"quotactl", SYS_quotactl, 131},
    {"quotactl_fd", 443, 443},
    {"settimeofday", SYS_settimeofday, 79},
    {"clock_settime", SYS_clock_settime, 264},
    {"syslog", SYS_syslog, 103},
    {"open_by_handle_at", SYS_open_by_handle_at, 342},
    {"vhangup", SYS_vhangup, 111},
#if defined(__x86_64__)
    {"iopl", SYS_iopl, 110},
    {"ioperm", SYS_ioperm, 101},
#endif
};

/// A call that makes namespaces: refused where its first argument has one of `flags`.
struct NamespaceCall {
    std::uint32_t number;
    std::uint32_t i386;
    std::uint32_t flags;
};
constexpr std::uint32_t kNewTime = 0x80; // CLONE_NEWTIME, which clone() reads as a signal
constexpr std::uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr NamespaceCall kNamespaceCalls[] = {
    {SYS_unshare, 310, kNewNamespaces | kNewTime},
    {SYS_clone, 120, kNewNamespaces},
};
constexpr std::uint32_t kClone3 = 435;
/// umount, stime and clock_settime64 of 32-bit programs.
constexpr std::array<std::uint32_t, 3> kOnlyI386 = {22, 25, 404};

/// The call's number is loaded. The comparison jumps over one instruction where it is another one.
void refuse(SystemCallFilter& filter, std::uint32_t number, std::uint32_t verdict) {
    filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    filter.answer(verdict);
}

template <typename Number>
bool install_filter(SystemCallFilter filter, const Number& number_of) {
    for (const RefusedCall& call : kStepCalls) {
        if (const std::uint32_t number = number_of(call); number != 0) {
            refuse(filter, number, kStepRefused);
        }
    }
    refuse(filter, kClone3, kStepUnknown);
    for (const NamespaceCall& call : kNamespaceCalls) {
        // Four instructions follow, for this call alone; each path of them ends.
        filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(call), 0, 4));
        filter.load(offsetof(seccomp_data, args));
        filter.add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, call.flags, 0, 1));
        filter.answer(kStepRefused);
        filter.answer(SECCOMP_RET_ALLOW);
    }
    filter.answer(SECCOMP_RET_ALLOW);
    return filter.install();
}

} // namespace

std::span<const RefusedCall> refused_in_steps() {
    return kStepCalls;
}

Result<void> filter_build_step() {
#if defined(__x86_64__)
    constexpr std::uint32_t kForeign = SECCOMP_RET_ALLOW; // i386: by the second filter
    constexpr std::uint32_t kFirstOfX32 = 0x40000000;
#else
    constexpr std::uint32_t kForeign = kStepUnknown;
#endif
    SystemCallFilter own(kForeign);
#if defined(__x86_64__)
    own.add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstOfX32, 0, 1));
    own.answer(kStepUnknown);
    SystemCallFilter i386(SECCOMP_RET_ALLOW, AUDIT_ARCH_I386);
    for (const std::uint32_t number : kOnlyI386) {
        refuse(i386, number, kStepRefused);
    }
    const bool is_other = install_filter(i386, [](const auto& call) { return call.i386; });
#else
    const bool is_other = true;
#endif
    if (!is_other || !install_filter(own, [](const auto& call) { return call.number; })) {
        return fail(system_error("cannot filter system calls of a build step", errno));
    }
    return {};
}

} // namespace cybele::namespaces
