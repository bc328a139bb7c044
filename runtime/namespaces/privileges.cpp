// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/privileges.hpp"

#include "support/find.hpp"

#include <cerrno>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr int kMostCapabilities = 64; // of version 3 of the interface

struct CapabilitySets {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
};

} // namespace

bool has_capability(int capability) {
    CapabilitySets sets;
    if (syscall(SYS_capget, &sets.header, sets.data) != 0) {
        return false;
    }
    const auto bit = static_cast<unsigned>(capability);
    return (sets.data[bit / 32U].effective & (1U << (bit % 32U))) != 0;
}

bool is_privileged_root() {
    return geteuid() == 0 && has_capability(CAP_SYS_ADMIN);
}

namespace {

/// With `is_passed_on`, programs that are started next have them, too.
Result<void> keep_only_these(std::span<const int> kept, bool is_passed_on) {
    CapabilitySets now;
    if (syscall(SYS_capget, &now.header, now.data) != 0) {
        return fail(system_error("cannot give up capabilities", errno));
    }
    CapabilitySets left;
    for (const int capability : kept) {
        const auto word = static_cast<unsigned>(capability) / 32U;
        const unsigned bit = 1U << (static_cast<unsigned>(capability) % 32U);
        left.data[word].permitted |= now.data[word].permitted & bit;
        left.data[word].effective |= now.data[word].permitted & bit;
        left.data[word].inheritable |= is_passed_on ? now.data[word].permitted & bit : 0U;
    }
    // Refused for the first one that the kernel does not know; where the right is gone already, for
    // each. capset below is what must succeed.
    for (int capability = 0; capability < kMostCapabilities; ++capability) {
        const bool is_kept = contains(kept, capability);
        if (!is_kept && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
            break;
        }
    }
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &left.header, left.data) != 0) {
        return fail(system_error("cannot give up capabilities", errno));
    }
    for (std::size_t i = 0; is_passed_on && i < kept.size(); ++i) {
        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0);
    }
    return {};
}

} // namespace

Result<void> keep_capabilities(std::span<const int> kept, bool is_passed_on) {
    return keep_only_these(kept, is_passed_on);
}

Result<void> forbid_new_privileges() {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return fail(system_error("cannot give up privileges", errno));
    }
    return {};
}

Result<void> drop_all_privileges(std::span<const int> given) {
    CYBELE_CHECK(forbid_new_privileges());
    return keep_only_these(given, true);
}

} // namespace cybele::namespaces
