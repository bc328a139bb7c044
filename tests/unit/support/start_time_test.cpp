// SPDX-License-Identifier: Apache-2.0
#include "support/start_time.hpp"

#include <csignal>

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_CASE("a process is told from another by when it began, until it has ended") {
    const std::string own = cybele::start_time(::getpid());
    CHECK(!own.empty());
    CHECK(own.find_first_not_of("0123456789") == std::string::npos);
    CHECK(cybele::start_time(::getpid()) == own);
    const pid_t child = ::fork();
    if (child == 0) {
        (void)::prctl(PR_SET_NAME, ") Z (1 2 3"); // a name that looks like other fields
        (void)::pause();
        ::_exit(0);
    }
    REQUIRE(child > 0);
    const std::string begun = cybele::start_time(child);
    CHECK(!begun.empty());
    CHECK(std::stoull(begun) >= std::stoull(own));
    REQUIRE(::kill(child, SIGKILL) == 0);
    siginfo_t ended{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
    CHECK(cybele::start_time(child).empty()); // ended, and nobody has waited for it
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    CHECK(cybele::start_time(child).empty());
}
