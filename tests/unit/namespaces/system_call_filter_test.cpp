// SPDX-License-Identifier: Apache-2.0
// A process that keeps only the calls that it names.
#include "runtime/namespaces/system_call_filter.hpp"
#include "tests/unit/namespaces/tiny_root.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace cybele::namespaces;

TEST_CASE("only the named calls are left") {
    const int code = tiny::in_child([] {
        // The second is for the end of a program that sanitizers watch.
        constexpr std::array<std::uint32_t, 3> kLeft = {
            SYS_getuid, SYS_sigaltstack, SYS_exit_group};
        if (!allow_only(kLeft)) {
            return 1;
        }
        const bool is_left = getuid() == 0;
        const bool is_refused = open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 && errno == EPERM;
        return is_left && is_refused ? 7 : 2;
    });
    CHECK(code == 7);
}
