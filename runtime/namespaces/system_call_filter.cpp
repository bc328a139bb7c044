// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/system_call_filter.hpp"

#include <cerrno>

#include <linux/audit.h>
#include <sys/prctl.h>

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

} // namespace

SystemCallFilter::SystemCallFilter(std::uint32_t foreign)
    : SystemCallFilter(foreign, kArchitecture) {}

SystemCallFilter::SystemCallFilter(std::uint32_t foreign, std::uint32_t architecture) {
    load(offsetof(seccomp_data, arch));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0));
    answer(foreign);
    load(offsetof(seccomp_data, nr));
}

void SystemCallFilter::load(std::size_t offset) {
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
}

void SystemCallFilter::answer(std::uint32_t verdict) {
    add(BPF_STMT(BPF_RET | BPF_K, verdict));
}

bool SystemCallFilter::install() {
    sock_fprog filter{static_cast<unsigned short>(program_.size()), program_.data()};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool allow_only(std::span<const std::uint32_t> numbers) {
    constexpr std::uint32_t kRefused = SECCOMP_RET_ERRNO | EPERM;
    SystemCallFilter filter(kRefused);
    for (const std::uint32_t number : numbers) {
        filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        filter.answer(SECCOMP_RET_ALLOW);
    }
    filter.answer(kRefused);
    return filter.install();
}

} // namespace cybele::namespaces
