// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/instance.hpp"
#include "support/start_time.hpp"

#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::runtime;

namespace {

Instance instance_of(pid_t pid) {
    Instance one;
    one.name = "of-a-test";
    one.pid = pid;
    one.start = start_time(pid);
    return one;
}

} // namespace

TEST_CASE("an instance that SIGKILL does not end is reported, and not waited for without end") {
    if (::geteuid() != 0) {
        MESSAGE("not shown: another user is needed");
        return;
    }
    const pid_t living = ::fork();
    if (living == 0) {
        ::pause();
        ::_exit(0);
    }
    // In the place of a process that the kernel cannot end: one that this user may not kill.
    const pid_t stranger = ::fork();
    if (stranger == 0) {
        constexpr unsigned kMostSeconds = 60;
        constexpr uid_t kNobody = 65534;
        ::alarm(kMostSeconds);
        const Instance one = instance_of(living);
        if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) {
            ::_exit(2);
        }
        const auto stopped = stop_instance(Environment(), one, SIGTERM, 0);
        const bool is_named = !stopped && stopped.error().faults().front().because.find(
                                              std::to_string(living)) != std::string::npos;
        ::_exit(is_named ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(stranger, &status, 0) == stranger);
    CHECK(status == 0);

    const auto stopped = stop_instance(Environment(), instance_of(living), SIGCONT, 0);
    REQUIRE(stopped);
    CHECK(*stopped); // it was killed
    REQUIRE(::waitpid(living, &status, 0) == living);
    CHECK(WIFSIGNALED(status));
}
