// SPDX-License-Identifier: Apache-2.0
#include "namespaces/fake_root.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace cybele::namespaces {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#elif defined(__powerpc64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_PPC64LE;
#else
#error "name the architecture of system call filters"
#endif

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

constexpr std::uint32_t argument_at(unsigned index) {
    return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}

using Program = std::vector<sock_filter>;

void load(Program& program, std::uint32_t offset) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

void answer(Program& program, std::uint32_t verdict) {
    program.push_back(BPF_STMT(BPF_RET | BPF_K, verdict));
}

Program make_filter() {
    constexpr std::uint32_t kSuccess = SECCOMP_RET_ERRNO; // errno 0
    Program program;
    load(program, offsetof(seccomp_data, arch));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
    answer(program, SECCOMP_RET_ALLOW);
    load(program, offsetof(seccomp_data, nr));
    for (const std::uint32_t number : kFaked) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        answer(program, kSuccess);
    }
    for (const DeviceCall& call : kDeviceCalls) {
        // Eight instructions follow, for this call alone; each path of them ends.
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.number, 0, 8));
        load(program, argument_at(call.mode_argument));
        program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, S_IFMT));
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, S_IFBLK, 4, 0));
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, S_IFCHR, 0, 2));
        load(program, argument_at(call.mode_argument + 1));
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1)); // a whiteout?
        answer(program, SECCOMP_RET_ALLOW);
        answer(program, kSuccess);
    }
    answer(program, SECCOMP_RET_ALLOW);
    return program;
}

} // namespace

Result<void> fake_ownership() {
    Program program = make_filter();
    sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        return fail(system_error("cannot filter system calls for a build with one id", errno));
    }
    return {};
}

} // namespace cybele::namespaces
