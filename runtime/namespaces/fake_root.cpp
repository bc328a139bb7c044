// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/fake_root.hpp"

#include "runtime/namespaces/system_call_filter.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <sys/stat.h>
#include <sys/syscall.h>

namespace cybele::namespaces {
namespace {

/// Calls that are answered by success.
constexpr std::uint32_t kFaked[] = {
#ifdef SYS_chown
    SYS_chown,
    SYS_lchown,
#endif
    SYS_fchown,
    SYS_fchownat,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capset,
};

/// Calls that make devices, with the number of the argument that holds the mode; the device is the
/// next one.
struct DeviceCall {
    std::uint32_t number;
    unsigned mode_argument;
};
constexpr DeviceCall kDeviceCalls[] = {
#ifdef SYS_mknod
    {SYS_mknod, 1},
#endif
    {SYS_mknodat, 2},
};

constexpr std::size_t argument_at(unsigned index) {
    return offsetof(seccomp_data, args) + index * sizeof(std::uint64_t);
}

SystemCallFilter make_filter() {
    constexpr std::uint32_t kSuccess = SECCOMP_RET_ERRNO; // errno 0
    SystemCallFilter filter(SECCOMP_RET_ALLOW);
    for (const std::uint32_t number : kFaked) {
        filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        filter.answer(kSuccess);
    }
    for (const DeviceCall& call : kDeviceCalls) {
        // Eight instructions follow, for this call alone; each path of them ends.
        filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.number, 0, 8));
        filter.load(argument_at(call.mode_argument));
        filter.add(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, S_IFMT));
        filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, S_IFBLK, 4, 0));
        filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, S_IFCHR, 0, 2));
        filter.load(argument_at(call.mode_argument + 1));
        filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1)); // a whiteout?
        filter.answer(SECCOMP_RET_ALLOW);
        filter.answer(kSuccess);
    }
    filter.answer(SECCOMP_RET_ALLOW);
    return filter;
}

} // namespace

Result<void> fake_ownership() {
    if (!make_filter().install()) {
        return fail(system_error("cannot filter system calls for a build with one id", errno));
    }
    return {};
}

} // namespace cybele::namespaces
