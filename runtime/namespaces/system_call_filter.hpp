// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>

namespace cybele::namespaces {

/// A filter of system calls in the making, see seccomp(2). It begins with a look at the
/// architecture (an AUDIT_ARCH_…; this program's own): calls of another one get `foreign` as their
/// verdict.
class SystemCallFilter {
public:
    explicit SystemCallFilter(std::uint32_t foreign);
    SystemCallFilter(std::uint32_t foreign, std::uint32_t architecture);

    void add(sock_filter instruction) {
        program_.push_back(instruction);
    }
    /// Loads the 32 bits of seccomp_data at `offset`.
    void load(std::size_t offset);
    /// SECCOMP_RET_…
    void answer(std::uint32_t verdict);
    /// For this process, for ever. False with errno where the kernel refuses: without no_new_privs
    /// it wants CAP_SYS_ADMIN.
    [[nodiscard]] bool install();

private:
    std::vector<sock_filter> program_;
};

/// All calls but `numbers` fail with EPERM from now on.
[[nodiscard]] bool allow_only(std::span<const std::uint32_t> numbers);

} // namespace cybele::namespaces
